// Reads a version again, byte for byte, with the lock and the inputs that are kept for it, and mends what is damaged:
// from a registry, from the build cache, from the source of an input, or by building it once more.

import { ImagoError } from '../domain/error/imago-error.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { BlobSource, HealOptions, HealReport } from '../oci/disks/repair-disk.ts';
import type { Damage, VerifyReport } from '../oci/disks/verify-disk.ts';
import { parseDigest } from '../oci/layout/digest.ts';
import { registrySource } from '../oci/registry/pull.ts';
import type { CheckRequest, ImageCheck, KeptLocks, Watch } from '../ports/image-store/image-store.ts';
import { checkKept } from './check-kept.ts';
import type { VersionsContext } from './context.ts';
import { withRegistry } from './copies.ts';

type CheckContext = Pick<
  VersionsContext,
  'store' | 'findCredentials' | 'rebuild' | 'findInput' | 'fetchInput'
>;

export async function checkImage(
  context: CheckContext,
  locks: Pick<KeptLocks, 'read' | 'keepInputs'>,
  request: CheckRequest,
  watch: Watch,
): Promise<ImageCheck> {
  const store = await context.store();
  const digest = parseDigest(request.digest);
  const options = {
    signal: watch.signal,
    onProgress: ({ bytesRead, total }: { readonly bytesRead: number; readonly total: number }) =>
      watch.progress(bytesRead, total, `reading ${formatBytes(total)} again`),
  };
  const { heal, lockDigest } = request;
  const kept =
    lockDigest === undefined ? nothingKept : await checkKept(context, locks, { lockDigest, heal }, watch);
  const first = await store.verify(digest, options);
  const healed: string[] = [];
  const mend = async (how: Pick<HealOptions, 'sources' | 'rawDisk'>): Promise<VerifyReport> => {
    const report: HealReport = await store.heal(digest, { ...options, ...how });
    const from = (damage: { readonly from: string }) =>
      damage.from === how.rawDisk ? 'a new build' : damage.from;
    healed.push(...report.healed.map((damage) => `${sentence(damage)} (mended from ${from(damage)})`));
    return report.left;
  };
  let left = first;
  if (heal && left.damages.length > 0 && request.registry !== undefined) {
    left = await fromRegistry(context, request.registry, (source) => mend({ sources: [source] }));
  }
  const lockIsWhole = !kept.left.some((damage) => damage.startsWith('lock: '));
  if (heal && left.damages.length > 0 && lockDigest !== undefined && lockIsWhole) {
    const lock = await locks.read(lockDigest);
    if (lock !== undefined && context.rebuild !== undefined) {
      watch.log('building the disk once more, to mend it');
      await context.rebuild(lock, watch, async (path) => {
        left = await mend({ rawDisk: path });
      });
    }
  }
  return {
    bytesRead: kept.bytesRead + first.bytesRead,
    found: [...kept.found, ...first.damages.map(sentence)],
    healed: [...kept.healed, ...healed],
    left: [...kept.left, ...left.damages.map(sentence)],
  };
}

const nothingKept: ImageCheck = { bytesRead: 0, found: [], healed: [], left: [] };

/** Nothing but what has the right digest is taken from it. */
function fromRegistry(
  context: CheckContext,
  registry: string,
  use: (source: BlobSource) => Promise<VerifyReport>,
): Promise<VerifyReport> {
  return withRegistry(context, registry, (client, { repository }) => use(registrySource(client, repository)));
}

function sentence({ role, message }: Damage): string {
  return `${role}: ${message}`;
}

/** `store-not-found` becomes `undefined`: the version is somewhere else. */
export async function findImage(store: DiskStore, text: string) {
  try {
    const { digest, sha256, size, storedBytes } = await store.inspect(parseDigest(text));
    return { digest, diskDigest: sha256, sizeBytes: size, storedBytes };
  } catch (error) {
    if (error instanceof ImagoError && error.code === 'store-not-found') return undefined;
    throw error;
  }
}
