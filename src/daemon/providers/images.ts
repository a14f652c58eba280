// Opens the local images: one disk store, one builder, and one set of signing keys for the state directory, which
// providers and routes share. Everything is opened on first use, so that a daemon of a cloud does not pay for it.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ImageBuilder } from '../../build/builder.ts';
import { sentFiles } from '../../build/inputs/sent-files.ts';
import { readAgentBundle } from '../../build/layers/agent-layer.ts';
import type { AgentBundle } from '../../build/lock/context.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { makeCacheFolder } from '../../host/tools/tools.ts';
import { createAttestor } from '../../image-store/attestor.ts';
import { createImageStore } from '../../image-store/image-store.ts';
import { signingKeys } from '../../image-store/signatures.ts';
import { packageVersion } from '../../launcher/package.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { findCredentials } from '../../oci/registry/find-credentials.ts';
import { keyFolder } from '../../oci/signatures/key-folder.ts';
import type { BuildCache } from '../../ports/database/lifecycle.ts';
import type { Attestor } from '../../ports/image-store/attestor.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { SentFiles } from '../../ports/image-store/sent-files.ts';
import type { SigningKeys } from '../../ports/image-store/signing-keys.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import { buildCache, buildCacheFolder } from './build-cache.ts';

export interface ImagesOptions {
  /** The addresses that recipes and registry references can reach. */
  readonly guard?: AddressGuard | undefined;
  /** State directory: the store is in `store`, the keys are in `keys`. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  /** Version of Imago. */
  readonly version: string;
  readonly now: () => number;
}

export interface Images {
  /** Returns the store of this state directory, the same one on every call. */
  store(): Promise<DiskStore>;
  /** Seals into that store; opened by its first call. */
  readonly builder: Builder;
  /** Returns the builder with its full interface. */
  imageBuilder(): Promise<ImageBuilder>;
  readonly cache: BuildCache;
  readonly imageStore: ImageStore;
  readonly sentFiles: SentFiles;
  readonly keys: SigningKeys;
  readonly attestor: Attestor;
  /** Returns whether the store was ever used. Opens nothing. */
  isUsed(): boolean;
  /** Closes the store. Calling it again has no effect. */
  close(): Promise<void>;
}

/** Opens and writes nothing until it is used. */
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
    sentFiles: sentFiles({ cacheFolder, prune: async () => (await imageBuilder.get()).prune() }),
    keys: signingKeys(context),
    attestor: createAttestor({
      ...context,
      has: async (digest) => isUsed() && (await imageStore.find(digest)) !== undefined,
    }),
    isUsed,
    close: () => store.close((opened) => opened.close()),
  };
}

/** The agent of this Imago. Throws `agent-missing` if there is none. */
export async function requireAgent(env: Readonly<Record<string, string | undefined>>): Promise<AgentBundle> {
  const found = await agentBundle(env);
  if (found !== undefined && found !== 'missing') return found;
  throw new ImagoError('agent-missing', 'This Imago has no agent for images.');
}

interface Once<T> {
  get(): Promise<T>;
  close(end: (value: T) => Promise<void>): Promise<void>;
}

/** Opens the value on the first call that succeeds. After a failure, the next call tries again. */
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

/**
 * Returns the agent in `IMAGO_AGENT`, else in `agent` next to the bundled daemon, else in `dist/agent` of the source
 * tree. With `IMAGO_AGENT=none`, images are built without one on purpose.
 */
export async function agentBundle(
  env: Readonly<Record<string, string | undefined>>,
): Promise<AgentBundle | 'missing' | undefined> {
  if (env.IMAGO_AGENT === 'none') return undefined;
  const places = env.IMAGO_AGENT
    ? [env.IMAGO_AGENT]
    : ['./agent', '../../../dist/agent'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const folder = places.find((place) => existsSync(place));
  return folder === undefined ? 'missing' : readAgentBundle(folder, packageVersion());
}

type Opened = Pick<Builder, 'lock' | 'build' | 'find'> & Required<Pick<Builder, 'remember' | 'tools'>>;

/** Returns a builder that is opened by its first call. `look` is for previews: it opens no store. */
function lazyBuilder(
  open: () => Promise<Opened>,
  look: () => Promise<Pick<Opened, 'tools'>> = open,
): Builder {
  return {
    methods: ['assemble', 'machine'],
    lock: async (...args) => (await open()).lock(...args),
    build: async (...args) => (await open()).build(...args),
    find: async (...args) => (await open()).find(...args),
    remember: async (...args) => (await open()).remember(...args),
    tools: {
      relock: async (...args) => (await open()).tools.relock(...args),
      lockFile: async (...args) => (await open()).tools.lockFile(...args),
      hotfix: async (...args) => (await open()).tools.hotfix(...args),
      outdated: async (...args) => (await open()).tools.outdated(...args),
      compareArchive: async (...args) => (await open()).tools.compareArchive(...args),
      absorb: async (...args) => (await open()).tools.absorb(...args),
      whyRebuild: async (...args) => (await open()).tools.whyRebuild(...args),
      readInput: async function* (...args) {
        yield* (await open()).tools.readInput(...args);
      },
      preview: async (...args) => (await look()).tools.preview(...args),
      previewHotfix: async (...args) => (await look()).tools.previewHotfix(...args),
    },
  };
}
