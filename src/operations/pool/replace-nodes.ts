// Replaces the nodes of a pool that run one of some versions, one at a time, with nodes of the pool's model. It
// stops at the first that does not become ready, so that a bad model costs one node and not the pool.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { capacityToRestore, noDrain } from '../../domain/pool/pool.ts';
import type { Json } from '../../domain/value/json.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { ChildStep, OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import {
  poolAccess,
  poolNodes,
  recordPoolNodes,
  requirePool,
  requireUsableModel,
} from '../node/pool-nodes.ts';
import { type Replacing, replaceNode } from './replace-node.ts';

const replaceInput = z.object({
  name: z.string(),
  /** What must go, as NAME:VERSION. */
  versions: z.array(z.string()).min(1),
  /** What the pool's model is set to first, e.g. the channel that it follows and that has moved on. */
  follow: z.string().optional(),
  why: z.string().min(1),
});
export type ReplaceNodesInput = z.infer<typeof replaceInput>;

/** How the pool and its nodes were before the first was replaced. */
interface Before {
  readonly capacity: number;
  readonly targets: readonly string[];
  /** Those that did not run, and must not run afterwards (rule 1). */
  readonly stopped: readonly string[];
}

export function replaceNodesOperation(deps: OperationDeps): OperationKind<ReplaceNodesInput> {
  return {
    kind: 'replace-nodes',
    parse: (input) => parseInput(replaceInput, input),
    async plan(input) {
      const pool = await requirePool(deps, input.name);
      if (input.follow === undefined) await refuseModel(deps, pool, input.versions);
      const targets = await readTargets(deps, pool, input.versions, AbortSignal.timeout(60_000));
      return [
        ...(input.follow === undefined ? [] : [`New nodes of pool ${pool.name} come from ${input.follow}.`]),
        `Replace ${targets.length} nodes of pool ${pool.name}, one at a time: ${input.why}`,
        noDrain,
      ];
    },
    steps: ({ follow }) => [
      ...(follow === undefined ? [] : [followStep()]),
      rememberStep(deps),
      replaceStep(deps),
      recordStep(deps),
    ],
  };
}

/** The child works under this operation's hold on the pool. */
function followStep(): ChildStep<ReplaceNodesInput> {
  return {
    name: 'follow',
    child: ({ input }) => ({
      kind: 'pool-set-image',
      subject: `pool/${input.name}`,
      input: { name: input.name, reference: input.follow ?? '', pin: false },
    }),
  };
}

async function refuseModel(
  deps: OperationDeps,
  pool: PoolRecord,
  versions: readonly string[],
): Promise<void> {
  await requireUsableModel(deps, pool);
  if (!versions.includes(`${pool.image}:${pool.version}`)) return;
  throw new ImagoError(
    'version-withdrawn',
    `New nodes of pool ${pool.name} would be of ${pool.image}:${pool.version} again.`,
    { hint: `Choose another image with \`imago pool set-image ${pool.name}\` first.` },
  );
}

async function readTargets(
  deps: OperationDeps,
  pool: PoolRecord,
  versions: readonly string[],
  signal: AbortSignal,
): Promise<readonly ProviderNode[]> {
  const targets: ProviderNode[] = [];
  for await (const node of poolNodes(poolAccess(deps, pool.provider, signal), pool.name)) {
    if (versions.includes(`${node.image}:${node.version}`) && node.state !== 'deleting') targets.push(node);
  }
  return targets;
}

function rememberStep(deps: OperationDeps): WorkStep<ReplaceNodesInput> {
  return {
    name: 'remember',
    async do({ input, signal }) {
      const pool = await requirePool(deps, input.name);
      await refuseModel(deps, pool, input.versions);
      const { pools, options } = poolAccess(deps, pool.provider, signal);
      const now = await pools.getPool(pool.name, options);
      if (now === undefined) {
        throw new ImagoError('provider-not-found', `The provider has no pool ${pool.name} any more.`);
      }
      const targets = await readTargets(deps, pool, input.versions, signal);
      const stopped = targets.filter(({ power }) => power === 'stopped' || power === 'stopping');
      return {
        capacity: now.capacity,
        targets: targets.map(({ name }) => name),
        stopped: stopped.map(({ name }) => name),
      } satisfies Json;
    },
  };
}

function replacing(
  deps: OperationDeps,
  pool: PoolRecord,
  context: StepContext<ReplaceNodesInput>,
): Replacing {
  const before = requireResult<Before>(context, 'remember');
  return {
    access: poolAccess(deps, pool.provider, context.signal),
    pool,
    versions: context.input.versions,
    capacity: before.capacity,
    stopped: new Set(before.stopped),
    context,
  };
}

function replaceStep(deps: OperationDeps): WorkStep<ReplaceNodesInput> {
  return {
    name: 'replace',
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const pool = await requirePool(deps, context.input.name);
      const work = replacing(deps, pool, context);
      const { targets } = requireResult<Before>(context, 'remember');
      const left = await readTargets(deps, pool, context.input.versions, context.signal);
      let done = Math.max(0, targets.length - left.length);
      for (const node of left) {
        const total = Math.max(targets.length, done + left.length);
        context.progress(done, total, `${done} of ${total} nodes of ${pool.name} are replaced`);
        await replaceNode(work, node.name);
        // Rule 6: the record of the new disk is not put off until the last node is done.
        await recordPoolNodes(deps, work.access, pool);
        done += 1;
      }
      return { replaced: targets.length };
    },
    async verify(context) {
      const pool = await requirePool(deps, context.input.name);
      const left = await readTargets(deps, pool, context.input.versions, context.signal);
      if (left.length > 0) return undefined;
      return { replaced: requireResult<Before>(context, 'remember').targets.length };
    },
    /** What was replaced stays so; a node that was added to stand in for another goes away again. */
    async undo(context) {
      const pool = await requirePool(deps, context.input.name);
      const { pools, options } = poolAccess(deps, pool.provider, context.signal);
      const now = await pools.getPool(pool.name, options);
      if (now === undefined) return 'kept';
      const { capacity } = requireResult<Before>(context, 'remember');
      const wanted = capacityToRestore({ before: capacity, ours: capacity + 1, now: now.capacity });
      if (wanted !== undefined) await pools.setCapacity(pool.name, wanted, { ifMatch: now.etag }, options);
      return 'kept';
    },
  };
}

function recordStep(deps: OperationDeps): WorkStep<ReplaceNodesInput> {
  return {
    name: 'record',
    async do(context) {
      const { name, versions } = context.input;
      const pool = await requirePool(deps, name);
      await recordPoolNodes(deps, poolAccess(deps, pool.provider, context.signal), pool);
      const left = await readTargets(deps, pool, versions, context.signal);
      if (left.length > 0) {
        throw new ImagoError('nodes-left', `${left.length} nodes of pool ${name} still run what was to go.`, {
          retryable: true,
        });
      }
      return { name, image: pool.image, version: pool.version, ...replaced(context) };
    },
  };
}

function replaced(context: StepContext<ReplaceNodesInput>): { readonly replaced: number } {
  return requireResult<{ readonly replaced: number }>(context, 'replace');
}
