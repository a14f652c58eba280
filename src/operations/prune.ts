// Prune: deletes versions that nothing needs, everywhere. Each is taken out of use first and looked at again before
// its bytes go, so that what became used meanwhile is kept, and said.
import * as z from 'zod';
import { formatBytes } from '../domain/bytes.ts';
import { ensureImagoError } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import {
  describeKeeper,
  type RetentionEntry,
  type RetentionPolicy,
  type RetentionTotals,
  retentionTotals,
} from '../domain/retention.ts';
import type { VersionName } from '../ports/lineage.ts';
import type { OperationKind, StepContext, WorkStep } from '../ports/operation.ts';
import { deleteCopies } from './delete-copies.ts';
import type { OperationDeps } from './deps.ts';
import { parseInput } from './parse-input.ts';
import { requireResult } from './step-result.ts';

const pruneInput = z.object({
  /** Absent: all images. */
  image: z.string().optional(),
  keepCount: z.int().min(0).max(100_000).optional(),
  keepDays: z.int().min(0).max(36_500).optional(),
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

export function pruneOperation(deps: OperationDeps): OperationKind<PruneInput> {
  return {
    kind: 'prune',
    parse: (input) => parseInput(pruneInput, input),
    async plan(input) {
      const { entries, totals } = await planPrune(deps, input);
      const going = entries.filter(({ keepers }) => keepers.length === 0);
      return [
        `Delete ${going.length} of ${entries.length} versions and free ${formatBytes(totals.freedBytes)}.`,
        ...going.map(({ image, version }) => `Delete ${image}:${version}.`),
      ];
    },
    steps: () => [planStep(deps), deleteStep(deps), reclaimStep(deps)],
    result(context) {
      const { deleted, kept, failed } = requireResult<Deleted>(context, 'delete');
      const { freedBytes } = requireResult<{ freedBytes: number }>(context, 'reclaim');
      return { deleted: [...deleted], kept: [...kept], failed: [...failed], freedBytes };
    },
  };
}

export function policyOf({ keepCount, keepDays }: Omit<PruneInput, 'image'>): RetentionPolicy {
  return {
    ...(keepCount === undefined ? {} : { keepCount }),
    ...(keepDays === undefined ? {} : { keepDays }),
  };
}

/** The plan with the bytes that it would free: exact where the local store holds the disks. */
export async function planPrune(
  deps: Pick<OperationDeps, 'lifecycle' | 'space' | 'catalogue'>,
  input: PruneInput,
): Promise<PrunePlan> {
  if (input.image !== undefined && (await deps.catalogue.getImage(input.image)) === undefined) {
    await deps.catalogue.resolve(input.image);
  }
  const entries = await deps.lifecycle.retention.plan(input.image, policyOf(input));
  const totals = retentionTotals(entries);
  if (deps.space === undefined) return { entries, totals };
  const local = await deps.space.digests();
  if (local.size === 0) return { entries, totals };
  const going = entries.filter(({ keepers }) => keepers.length === 0);
  const elsewhere = retentionTotals(entries.filter(({ digest }) => !local.has(digest)));
  const all = input.image === undefined ? entries : await deps.lifecycle.retention.plan(undefined, {});
  const keep = digestsWithout(all, new Set(going.map(nameOf)));
  const gone = new Set(going.map(({ digest }) => digest).filter((digest) => !keep.has(digest)));
  const here = await deps.space.reclaimable(keep, gone);
  return { entries, totals: { ...totals, freedBytes: here + elsewhere.freedBytes } };
}

export interface PrunePlan {
  readonly entries: readonly RetentionEntry[];
  readonly totals: RetentionTotals;
}

function nameOf({ image, version }: VersionName): string {
  return `${image}:${version}`;
}

function planStep(deps: OperationDeps): WorkStep<PruneInput> {
  return {
    name: 'plan',
    async do({ input }) {
      const { entries } = await planPrune(deps, input);
      const going = entries.filter(({ keepers }) => keepers.length === 0);
      return { versions: going.map(({ image, version }) => `${image}:${version}`) } satisfies Json;
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
  const keepers = await retention.condemn(name, policyOf(context.input), { by, operation });
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
      const local = (await deps.space?.digests()) ?? new Set();
      const left = await deps.lifecycle.retention.plan(undefined, {});
      const elsewhere = await freedOf(deps, deleted, local, left);
      const here = (await deps.space?.reclaim(digestsWithout(left, new Set()))) ?? 0;
      return { freedBytes: here + elsewhere };
    },
  };
}

function digestsWithout(entries: readonly RetentionEntry[], going: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(entries.filter((entry) => !going.has(nameOf(entry))).map(({ digest }) => digest));
}

/** Of the disks that only deleted versions had, and that are not in the local store. */
async function freedOf(
  deps: OperationDeps,
  deleted: readonly string[],
  local: ReadonlySet<string>,
  left: readonly RetentionEntry[],
): Promise<number> {
  const kept = new Set(left.map(({ diskDigest }) => diskDigest));
  const freed = new Map<string, number>();
  for (const text of deleted) {
    const [image = '', version = ''] = text.split(':');
    const record = await deps.catalogue.getVersion(image, version);
    if (record === undefined || local.has(record.digest) || kept.has(record.diskDigest)) continue;
    freed.set(record.diskDigest, record.sizeBytes);
  }
  return [...freed.values()].reduce((sum, bytes) => sum + bytes, 0);
}
