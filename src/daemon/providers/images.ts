// The daemon's own images: ONE disk store, ONE builder and one set of signing keys for the state folder. Providers
// that keep their disks here and the routes share them. Everything is opened when it is first needed, so that a
// daemon that only talks to a cloud pays for none of it.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ImageBuilder } from '../../build/builder.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { makeCacheFolder } from '../../host/tools/tools.ts';
import { createAttestor } from '../../image-store/attestor.ts';
import { createImageStore } from '../../image-store/image-store.ts';
import { signingKeys } from '../../image-store/signatures.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { findCredentials } from '../../oci/registry/find-credentials.ts';
import { keyFolder } from '../../oci/signatures/key-folder.ts';
import type { BuildCache } from '../../ports/database/lifecycle.ts';
import type { Attestor } from '../../ports/image-store/attestor.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { SigningKeys } from '../../ports/image-store/signing-keys.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import { agentBundle } from './agent-bundle.ts';
import { buildCache, buildCacheFolder } from './build-cache.ts';
import { lazyBuilder } from './lazy-builder.ts';

export interface ImagesOptions {
  /** The addresses that recipes and registry references can reach. */
  readonly guard?: AddressGuard | undefined;
  /** The state folder: the store is `store` in it, the keys are in `keys`. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  /** Imago's own version. */
  readonly version: string;
  readonly now: () => number;
}

export interface Images {
  /** The one store of this state folder. A second call gives the same. */
  store(): Promise<DiskStore>;
  /** The one builder, sealing into that store; opened by its first call. */
  readonly builder: Builder;
  /** The same with all that it can do. */
  imageBuilder(): Promise<ImageBuilder>;
  /** What it keeps between builds. */
  readonly cache: BuildCache;
  readonly imageStore: ImageStore;
  readonly keys: SigningKeys;
  readonly attestor: Attestor;
  /** Whether anything was ever put into the store. Opens nothing. */
  isUsed(): boolean;
  /** Lets go of the store. A second call does nothing. */
  close(): Promise<void>;
}

/** Nothing is opened and nothing is written before it is used. */
export function openImages({ home, env, uid, version, now, guard }: ImagesOptions): Images {
  const store = once(async () => {
    const { openDiskStore } = await import('../../oci/disks/disk-store.ts');
    return openDiskStore(join(home, 'store'));
  });
  const cacheFolder = buildCacheFolder(home, env, uid);
  async function makeBuilder(sealed: DiskStore | undefined): Promise<ImageBuilder> {
    const { createBuilder } = await import('../../build/builder.ts');
    return createBuilder({
      cacheFolder,
      store: sealed,
      agent: await agentBundle(env),
      findCredentials: (registry) => findCredentials(registry, env),
      guard,
      now,
    });
  }
  const imageBuilder = once(async () => {
    makeCacheFolder(dirname(cacheFolder));
    return makeBuilder(await store.get());
  });
  const context = {
    store: store.get,
    workFolder: join(home, 'work'),
    keys: keyFolder(join(home, 'keys')),
    passphrase: env.IMAGO_KEY_PASSPHRASE || undefined,
    signs: env.IMAGO_SIGN !== 'no',
    tool: version,
    now,
    guard,
    findCredentials: (registry: string) => findCredentials(registry, env),
  };
  const isUsed = () => existsSync(join(home, 'store'));
  const imageStore = createImageStore({
    ...context,
    async rebuild(lock, watch, use) {
      const builder = await imageBuilder.get();
      await builder.rebuild(lock, watch, { signal: watch.signal, epoch: 0 }, use);
    },
    findInput: async (sha256) => (await imageBuilder.get()).findInput(sha256),
    async fetchInput(lock, sha256, signal) {
      const builder = await imageBuilder.get();
      try {
        return await builder.bringInput(lock, sha256, { signal, epoch: 0 });
      } catch {
        signal.throwIfAborted();
        return undefined;
      }
    },
  });
  return {
    store: store.get,
    imageBuilder: imageBuilder.get,
    builder: lazyBuilder(imageBuilder.get, () => makeBuilder(undefined)),
    cache: buildCache(cacheFolder, async () => {
      const { createBuilder } = await import('../../build/builder.ts');
      return createBuilder({ cacheFolder, now }).prune();
    }),
    imageStore,
    keys: signingKeys(context),
    attestor: createAttestor({
      ...context,
      has: async (digest) => isUsed() && (await imageStore.find(digest)) !== undefined,
    }),
    isUsed,
    close: () => store.close((opened) => opened.close()),
  };
}

interface Once<T> {
  get(): Promise<T>;
  close(end: (value: T) => Promise<void>): Promise<void>;
}

/** Made by the first call that succeeds; a failure is tried again by the next one. */
function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  let closed = false;
  return {
    async get() {
      if (closed) throw new ImagoError('store-busy', 'The daemon is stopping.');
      made ??= make().catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return made;
    },
    async close(end) {
      if (closed) return;
      closed = true;
      const value = await made?.catch(() => undefined);
      if (value !== undefined) await end(value);
    },
  };
}
