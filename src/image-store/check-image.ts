// Checks every byte of a version, with the lock and the inputs that are stored for it, and repairs what is damaged: from
// a registry, from the build cache, from the source of an input, or by building the disk again.
import { ImagoError } from '../domain/error/imago-error.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import { type DiskStore, describeDisk } from '../oci/disks/disk-store.ts';
import { type BlobSource, rawDiskSource, repairDisk } from '../oci/disks/repair-disk.ts';
import { type Damage, verifyDisk } from '../oci/disks/verify-disk.ts';
import { parseDigest } from '../oci/layout/digest.ts';
import { registrySource } from '../oci/registry/pull.ts';
import type { CheckRequest, ImageCheck, KeptLocks, Watch } from '../ports/image-store/image-store.ts';
import { checkKept } from './check-kept.ts';
import type { VersionsContext } from './context.ts';
import { withRegistry } from './copies.ts';

type CheckContext = Pick<
  VersionsContext,
  'store' | 'findCredentials' | 'guard' | 'rebuild' | 'findInput' | 'fetchInput'
>;

export async function checkImage(
  context: CheckContext,
  locks: Pick<KeptLocks, 'read' | 'keepInputs'>,
  { digest: text, heal, registry, lockDigest }: CheckRequest,
  watch: Watch,
): Promise<ImageCheck> {
  const store = await context.store();
  const digest = parseDigest(text);
  const options = {
    signal: watch.signal,
    onProgress: ({ bytesRead, total }: { readonly bytesRead: number; readonly total: number }) =>
      watch.progress(bytesRead, total, `reading ${formatBytes(total)} again`),
  };
  const kept =
    lockDigest === undefined ? nothingKept : await checkKept(context, locks, { lockDigest, heal }, watch);
  const first = await verifyDisk(store, digest, options);
  const healed: string[] = [];
  let left = first.damages;
  const repairFrom = async (source: BlobSource): Promise<void> => {
    const report = await repairDisk(store, digest, { ...options, sources: [source] });
    healed.push(...report.repaired.map((damage) => `${describe(damage)} (repaired from ${damage.from})`));
    left = report.left.damages;
  };

  if (heal && left.length > 0 && registry !== undefined) {
    await withRegistry(context, registry, (client, { repository }) =>
      repairFrom(registrySource(client, repository)),
    );
  }
  const isLockIntact = !kept.left.some((damage) => damage.startsWith('lock: '));
  if (heal && left.length > 0 && lockDigest !== undefined && isLockIntact) {
    const lock = await locks.read(lockDigest);
    if (lock !== undefined && context.rebuild !== undefined) {
      watch.log('Building the disk again to repair it');
      await context.rebuild(lock, watch, (path) =>
        repairFrom(rawDiskSource(store, digest, path, 'a new build')),
      );
    }
  }
  return {
    bytesRead: kept.bytesRead + first.bytesRead,
    found: [...kept.found, ...first.damages.map(describe)],
    healed: [...kept.healed, ...healed],
    left: [...kept.left, ...left.map(describe)],
  };
}

const nothingKept: ImageCheck = { bytesRead: 0, found: [], healed: [], left: [] };

function describe({ role, message }: Damage): string {
  return `${role}: ${message}`;
}

/** Returns `undefined` if the version is not in this store. */
export async function findImage(store: DiskStore, text: string) {
  try {
    const { digest, sha256, size, storedBytes } = await describeDisk(store, parseDigest(text));
    return { digest, diskDigest: sha256, sizeBytes: size, storedBytes };
  } catch (error) {
    if (error instanceof ImagoError && error.code === 'store-not-found') return undefined;
    throw error;
  }
}
