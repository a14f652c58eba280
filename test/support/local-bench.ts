// A local provider for tests, in folders of its own, over a host that is given.
import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/host/system-clock.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import type { SealedDisk } from '../../src/ports/provider/builder.ts';
import {
  createLocalProvider,
  type LocalProvider,
  type LocalProviderOptions,
} from '../../src/providers/local/provider.ts';
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';

export interface LocalBench {
  readonly folder: string;
  readonly store: DiskStore;
  /** Opens the provider on this bench's folder; the one before must be closed. */
  open(host: MachineHost, options?: Partial<LocalProviderOptions>): Promise<LocalProvider>;
  /** A small sealed disk; the same text gives the same disk. */
  sealDisk(text: string): Promise<SealedDisk>;
  /** Puts a raw disk into the store. */
  seal(path: string): Promise<SealedDisk>;
  end(): Promise<void>;
}

const smallDisk = 1024 * 1024;

export async function createLocalBench(): Promise<LocalBench> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-local-'));
  const store = await openDiskStore(join(folder, 'store'));

  async function seal(path: string): Promise<SealedDisk> {
    const { digest, sha256, size } = await putDisk(store, path);
    return { digest, diskDigest: sha256, sizeBytes: size };
  }

  return {
    folder,
    store,
    open: (host, options = {}) =>
      createLocalProvider({
        folder: join(folder, 'local'),
        store,
        host,
        clock: systemClock,
        ...options,
        limits: { diskBytes: 2 * smallDisk, ...options.limits },
      }),
    seal,
    async sealDisk(text) {
      const path = join(folder, 'disk.raw');
      const file = await open(path, 'w');
      await file.write(createHash('sha512').update(text).digest(), 0);
      await file.truncate(smallDisk);
      await file.close();
      return seal(path);
    },
    async end() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
