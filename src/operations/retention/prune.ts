// Prune: deletes versions that nothing needs, everywhere. Each is taken out of use first and looked at again before
// its bytes go, so that what became used meanwhile is kept, and said.
import * as z from 'zod';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { retentionDiffers, retentionFor } from '../../domain/policy/policy.ts';
import {
  describeKeeper,
  type RetentionEntry,
  type RetentionPolicy,
  RetentionTally,
  type RetentionTotals,
} from '../../domain/retention/retention.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { settle } from '../../workflow/poll-until.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { allPages } from '../common/all-pages.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { listGalleries } from '../gallery/galleries.ts';

/** The limit for deleting one copy: Azure takes 91 to 150 s. */
const deadlineMs = 30 * 60_000;

const pruneInput = z.object({
  /** Absent: all images. */
  image: z.string().optional(),
  keepCount: z.int().min(0).max(100_000).optional(),
  keepDays: z.int().min(0).max(36_500).optional(),
  /** How many versions the caller expects to be deleted. */
  expect: z.int().min(0).optional(),
});
export type PruneInput = z.infer<typeof pruneInput>;

interface Planned {
  /** NAME:VERSION, oldest first. */
  readonly versions: readonly string[];
}

interface Deleted {
  readonly deleted: readonly string[];
  /** What became needed since the plan was made, with the reason. */
  readonly kept: readonly string[];
  /** What could not be deleted, with the reason; it stays out of use. */
  readonly failed: readonly string[];
}

interface Reclaimed {
  readonly freedBytes: number;
  /** Of the build cache; absent in what an earlier Imago recorded. */
  readonly cacheFreedBytes?: number;
}

export function pruneOperation(deps: OperationDeps): OperationKind<PruneInput> {
  return {
    kind: 'prune',
    parse: (input) => parseInput(pruneInput, input),
    async plan(input) {
      const { going, totals } = await readPlan(deps, input);
      checkCount(going.length, input);
      const all = totals.kept + totals.going;
      const cache = await deps.cache?.use();
      return [
        `Delete ${totals.going} of ${all} versions and free ${formatBytes(totals.freedBytes)}.`,
        ...going.map((name) => `Delete ${name}.`),
        ...(cache === undefined || cache.bytes <= cache.limitBytes
          ? []
          : [
              `Take ${formatBytes(cache.bytes - cache.limitBytes)} out of the build cache, unless it is in use.`,
            ]),
      ];
    },
    steps: () => [planStep(deps), deleteStep(deps), reclaimStep(deps)],
    result(context) {
      const { deleted, kept, failed } = requireResult<Deleted>(context, 'delete');
      const { freedBytes, cacheFreedBytes } = requireResult<Reclaimed>(context, 'reclaim');
      const freed = cacheFreedBytes === undefined ? { freedBytes } : { freedBytes, cacheFreedBytes };
      return { deleted: [...deleted], kept: [...kept], failed: [...failed], ...freed };
    },
  };
}

type PlanDeps = Pick<OperationDeps, 'lifecycle' | 'space' | 'catalogue' | 'promotion'>;

/** What was asked for; when nothing was, what the policy in force says of the image. */
async function retentionOf(
  { promotion }: PlanDeps,
  { keepCount, keepDays }: PruneInput,
  image: string | undefined,
): Promise<RetentionPolicy> {
  if (keepCount === undefined && keepDays === undefined) {
    return retentionFor((await promotion.getPolicy())?.policy, image);
  }
  return {
    ...(keepCount === undefined ? {} : { keepCount }),
    ...(keepDays === undefined ? {} : { keepDays }),
  };
}

/** Which images are looked at in one go: all, unless the policy keeps more of some. */
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

function planStep(deps: OperationDeps): WorkStep<PruneInput> {
  return {
    name: 'plan',
    async do({ input }) {
      const { going } = await readPlan(deps, input);
      checkCount(going.length, input);
      return { versions: going } satisfies Json;
    },
  };
}

function deleteStep(deps: OperationDeps): WorkStep<PruneInput> {
  return {
    name: 'delete',
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const { versions } = requireResult<Planned>(context, 'plan');
      const outcome = { deleted: [] as string[], kept: [] as string[], failed: [] as string[] };
      for (const [index, text] of versions.entries()) {
        context.signal.throwIfAborted();
        context.progress(index, versions.length, `deleting ${text}`);
        const [image = '', version = ''] = text.split(':');
        await deleteOne(deps, { image, version }, context, outcome);
      }
      return outcome satisfies Json;
    },
    /** Versions that were taken out of use and not deleted are given back. */
    async undo(context) {
      const { versions } = requireResult<Planned>(context, 'plan');
      const { id: operation, by } = context.operation;
      for (const text of versions) {
        const [image = '', version = ''] = text.split(':');
        await deps.lifecycle.retention.reprieve(
          { image, version },
          { by, operation, why: 'The prune was stopped.' },
        );
      }
      return 'kept';
    },
  };
}

async function deleteOne(
  deps: OperationDeps,
  name: VersionName,
  context: StepContext<PruneInput>,
  outcome: { readonly deleted: string[]; readonly kept: string[]; readonly failed: string[] },
): Promise<void> {
  const { retention } = deps.lifecycle;
  const { id: operation, by } = context.operation;
  const text = `${name.image}:${name.version}`;
  const policy = await retentionOf(deps, context.input, name.image);
  const keepers = await retention.condemn(name, policy, { by, operation });
  const used = keepers.length > 0 ? keepers : await retention.usedBy(name);
  if (used.length > 0) {
    const why = used.map(describeKeeper).join(', ');
    await retention.reprieve(name, { by, operation, why });
    outcome.kept.push(`${text}: ${why}`);
    return;
  }
  try {
    await deleteCopies(deps, name, context);
    await retention.finish(name, by);
    await dropLock(deps, name);
    outcome.deleted.push(text);
  } catch (thrown) {
    context.signal.throwIfAborted();
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

function reclaimStep(deps: OperationDeps): WorkStep<PruneInput> {
  return {
    name: 'reclaim',
    async do(context) {
      const { deleted } = requireResult<Deleted>(context, 'delete');
      const { retention } = deps.lifecycle;
      const elsewhere = await freedElsewhere(deps, deleted);
      const here = (await deps.space?.reclaim(await retention.digests())) ?? 0;
      const cached = await deps.cache?.trim();
      return {
        freedBytes: here + elsewhere,
        ...(cached === undefined ? {} : { cacheFreedBytes: cached }),
      } satisfies Reclaimed;
    },
  };
}

/** Of the disks that only deleted versions had, and that are not in the local store. */
async function freedElsewhere(deps: OperationDeps, deleted: readonly string[]): Promise<number> {
  const local: ReadonlySet<string> = (await deps.space?.digests()) ?? new Set();
  const freed = new Map<string, number>();
  for (const text of deleted) {
    const [image = '', version = ''] = text.split(':');
    const record = await deps.catalogue.getVersion(image, version);
    if (record === undefined || local.has(record.digest)) continue;
    freed.set(record.diskDigest, record.sizeBytes);
  }
  for (const disk of await deps.lifecycle.retention.disksInUse([...freed.keys()])) freed.delete(disk);
  return [...freed.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Deletes a version's copies from every gallery and waits until they are deleted. A second call has no effect. */
async function deleteCopies(
  deps: OperationDeps,
  { image, version }: VersionName,
  { signal }: Pick<StepContext<unknown>, 'signal'>,
): Promise<void> {
  const options = callOptions(deps, signal);
  for (const { name, gallery, provider } of await listGalleries(deps.providers(), options)) {
    const found = await gallery.getVersion(image, version, options);
    if (found === undefined) continue;
    if (found.state !== 'deleting') await gallery.deleteVersion(image, version, options);
    await settle(
      async () => ((await gallery.getVersion(image, version, options)) === undefined ? true : undefined),
      {
        clock: provider.clock,
        signal,
        deadlineMs,
        what: `The removal of ${image}:${version} from gallery ${name}`,
      },
    );
  }
}
