// Deletes versions that nothing needs, everywhere. Each is taken out of use first and checked again before its bytes are
// deleted, so that a version that is in use by then is kept, and reported.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { retentionDiffers, retentionFor } from '../../domain/policy/policy.ts';
import type { PruneInput } from '../../domain/retention/operations.ts';
import * as declared from '../../domain/retention/operations.ts';
import {
  describeKeeper,
  type RetentionEntry,
  type RetentionPolicy,
  RetentionTally,
  type RetentionTotals,
} from '../../domain/retention/retention.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { settleGone } from '../../workflow/poll-until.ts';
import { allPages } from '../common/all-pages.ts';
import type { Calls, OperationDeps } from '../common/deps.ts';
import { operation, type Run } from '../common/operation.ts';
import { listGalleries } from '../gallery/galleries.ts';

export const prune = operation(declared.prune, {
  async plan(run) {
    const { going, totals } = await readPlan(run, run.input);
    checkCount(going.length, run.input);
    const all = totals.kept + totals.going;
    const { bytes = 0, limitBytes = 0 } = (await run.cache?.use()) ?? {};
    return [
      `Delete ${totals.going} of ${all} versions and free ${formatBytes(totals.freedBytes)}.`,
      ...going.map((name) => `Delete ${name}.`),
      ...(bytes > limitBytes
        ? [`Remove ${formatBytes(bytes - limitBytes)} from the build cache, unless it is in use.`]
        : []),
    ];
  },
})
  .step('plan', async (run) => {
    const { going } = await readPlan(run, run.input);
    checkCount(going.length, run.input);
    return { versions: going };
  })
  .step('delete', {
    timeoutMs: 24 * 3_600_000,
    async do(run) {
      const { versions } = run.result('plan');
      const outcome: Outcome = { deleted: [], kept: [], failed: [] };
      for (const [index, text] of versions.entries()) {
        run.signal.throwIfAborted();
        run.progress(index, versions.length, `deleting ${text}`);
        await deleteOne(run, nameOf(text), outcome);
      }
      return outcome;
    },
    /** Versions that were taken out of use and not deleted can be used again. */
    async undo(run) {
      const { id: operation, by } = run.operation;
      const why = 'The prune was stopped.';
      for (const text of run.result('plan').versions) {
        await run.lifecycle.retention.reprieve(nameOf(text), { by, operation, why });
      }
      return 'kept';
    },
  })
  .step('reclaim', async (run) => {
    const { deleted } = run.result('delete');
    const elsewhere = await freedElsewhere(run, deleted);
    const here = (await run.space?.reclaim(await run.lifecycle.retention.digests())) ?? 0;
    const cached = await run.cache?.trim();
    return { freedBytes: here + elsewhere, ...(cached !== undefined && { cacheFreedBytes: cached }) };
  })
  .result((run) => ({ ...run.result('delete'), ...run.result('reclaim') }));

interface Outcome {
  readonly deleted: string[];
  /** What became needed since the plan was made, with the reason. */
  readonly kept: string[];
  /** What could not be deleted, with the reason; it stays out of use. */
  readonly failed: string[];
}

function nameOf(text: string): VersionName {
  const [image = '', version = ''] = text.split(':');
  return { image, version };
}

type PlanDeps = Pick<OperationDeps, 'lifecycle' | 'space' | 'catalogue' | 'promotion'>;

/** The requested retention, else that of the current policy for the image. */
async function retentionOf(
  { promotion }: PlanDeps,
  { keepCount, keepDays }: PruneInput,
  image: string | undefined,
): Promise<RetentionPolicy> {
  if (keepCount === undefined && keepDays === undefined) {
    return retentionFor((await promotion.getPolicy())?.policy, image);
  }
  return { ...(keepCount !== undefined && { keepCount }), ...(keepDays !== undefined && { keepDays }) };
}

/** Which images are read together: all, unless the policy keeps more of some. */
async function scopesOf(deps: PlanDeps, input: PruneInput): Promise<readonly (string | undefined)[]> {
  const isAsked = input.keepCount !== undefined || input.keepDays !== undefined;
  if (input.image !== undefined || isAsked) return [input.image];
  if (!retentionDiffers((await deps.promotion.getPolicy())?.policy)) return [undefined];
  const names: string[] = [];
  for await (const { name } of allPages((query) => deps.catalogue.listImages(query))) names.push(name);
  return names;
}

async function* readEntries(
  deps: PlanDeps,
  input: PruneInput,
): AsyncGenerator<readonly RetentionEntry[], void> {
  for (const image of await scopesOf(deps, input)) {
    yield* deps.lifecycle.retention.plan(image, await retentionOf(deps, input, image));
  }
}

/**
 * The plan in parts, oldest first within each image, and at its end what it comes to: the bytes that it would free
 * are exact where the local store holds the disks. Throws `image-not-found` before the first part.
 */
export async function* planPrune(
  deps: PlanDeps,
  input: PruneInput,
): AsyncGenerator<readonly RetentionEntry[], RetentionTotals> {
  if (input.image !== undefined && (await deps.catalogue.getImage(input.image)) === undefined) {
    await deps.catalogue.resolve(input.image);
  }
  const local: ReadonlySet<string> = (await deps.space?.digests()) ?? new Set();
  const [all, elsewhere] = [new RetentionTally(), new RetentionTally()];
  const keep = new Set<string>();
  const going = new Set<string>();
  for await (const entries of readEntries(deps, input)) {
    for (const entry of entries) {
      all.add(entry);
      if (local.size === 0) continue;
      (entry.keepers.length === 0 ? going : keep).add(entry.digest);
      if (!local.has(entry.digest)) elsewhere.add(entry);
    }
    yield entries;
  }
  if (deps.space === undefined || local.size === 0) return all.totals();
  if (input.image !== undefined) {
    for (const digest of await deps.lifecycle.retention.digests(input.image)) keep.add(digest);
  }
  const gone = new Set([...going].filter((digest) => !keep.has(digest)));
  const here = await deps.space.reclaimable(keep, gone);
  return { ...all.totals(), freedBytes: here + elsewhere.totals().freedBytes };
}

interface GoingPlan {
  /** NAME:VERSION, oldest first. */
  readonly going: readonly string[];
  readonly totals: RetentionTotals;
}

async function readPlan(deps: PlanDeps, input: PruneInput): Promise<GoingPlan> {
  const going: string[] = [];
  const parts = planPrune(deps, input);
  for (;;) {
    const part = await parts.next();
    if (part.done === true) return { going, totals: part.value };
    for (const { image, version, keepers } of part.value) {
      if (keepers.length === 0) going.push(`${image}:${version}`);
    }
  }
}

function checkCount(found: number, { expect }: PruneInput): void {
  if (expect === undefined || expect === found) return;
  throw new ImagoError(
    'expectation-failed',
    `${found} versions can be deleted, and --expect is ${expect}. Nothing was deleted.`,
  );
}

async function deleteOne(run: Run<PruneInput>, name: VersionName, outcome: Outcome): Promise<void> {
  const { retention } = run.lifecycle;
  const { id: operation, by } = run.operation;
  const text = `${name.image}:${name.version}`;
  const policy = await retentionOf(run, run.input, name.image);
  const keepers = await retention.condemn(name, policy, { by, operation });
  const used = keepers.length > 0 ? keepers : await retention.usedBy(name);
  if (used.length > 0) {
    const why = used.map(describeKeeper).join(', ');
    await retention.reprieve(name, { by, operation, why });
    outcome.kept.push(`${text}: ${why}`);
    return;
  }
  try {
    await deleteCopies(run, name);
    await retention.finish(name, by);
    await dropLock(run, name);
    outcome.deleted.push(text);
  } catch (thrown) {
    run.signal.throwIfAborted();
    const error = ensureImagoError(thrown);
    if (error.code === 'owner-stale') throw error;
    outcome.failed.push(`${text}: ${error.message}`);
  }
}

/** The inputs of a lock are kept for its versions: with the last one they may go. */
async function dropLock(deps: OperationDeps, { image, version }: VersionName): Promise<void> {
  const record = await deps.catalogue.getVersion(image, version);
  if (deps.images === undefined || record?.origin.kind !== 'built') return;
  const { lockDigest } = record.origin;
  if ((await deps.catalogue.findVersionByLock(image, lockDigest)) !== undefined) return;
  await deps.images.locks.drop(lockDigest);
}

/** Azure takes 91 to 150 s. */
const deadlineMs = 30 * 60_000;

/** Deletes the version's copies from every gallery, and reads back that they are gone. */
async function deleteCopies({ providers, call }: Calls, { image, version }: VersionName): Promise<void> {
  for (const { name, gallery, provider } of await listGalleries(providers(), call)) {
    const read = () => gallery.getVersion(image, version, call);
    const found = await read();
    if (found === undefined) continue;
    if (found.state !== 'deleting') await gallery.deleteVersion(image, version, call);
    const what = `The removal of ${image}:${version} from gallery ${name}`;
    await settleGone(read, { clock: provider.clock, signal: call.signal, deadlineMs, what });
  }
}

/** Of the disks that only deleted versions had, and that are not in the local store. */
async function freedElsewhere(deps: OperationDeps, deleted: readonly string[]): Promise<number> {
  const local: ReadonlySet<string> = (await deps.space?.digests()) ?? new Set();
  const freed = new Map<string, number>();
  for (const text of deleted) {
    const { image, version } = nameOf(text);
    const record = await deps.catalogue.getVersion(image, version);
    if (record === undefined || local.has(record.digest)) continue;
    freed.set(record.diskDigest, record.sizeBytes);
  }
  for (const disk of await deps.lifecycle.retention.disksInUse([...freed.keys()])) freed.delete(disk);
  return [...freed.values()].reduce((sum, bytes) => sum + bytes, 0);
}
