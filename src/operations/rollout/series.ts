// Rolls a version out to several pools, one after the other, in the order that was requested. The first pool that does
// not get there ends it; the later ones are not touched.
import type * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { operationRequest } from '../../domain/operation/declaration.ts';
import * as declared from '../../domain/rollout/operations.ts';
import { type Looked, operation, type Reading, type Run } from '../common/operation.ts';
import { stopChildren } from '../common/stop-children.ts';
import { findFloors } from './floors.ts';
import { planRollout } from './target.ts';

const patienceMs = 90 * 24 * 3_600_000;
/** A rollout that ends wakes the step; a message that is lost costs this much. */
const maxCheckMs = 15_000;

type Input = z.output<typeof declared.rolloutSeries.input>;

export const rolloutSeries = operation(declared.rolloutSeries, {
  async plan(run) {
    const plans = await planAll(run);
    return plans.map(({ pool, moving, to }) => `Pool ${pool}: move ${moving} nodes to ${to}, in waves.`);
  },
})
  .step('check', {
    // What would refuse a later pool is found before the first one is touched.
    async do(run) {
      await planAll(run);
      return {};
    },
    /** The rollout that runs stops as if a user had cancelled it. */
    async undo(run) {
      await stopChildren(run);
      return 'kept';
    },
  })
  .until('pools', {
    patience: () => ({ timeoutMs: patienceMs }),
    look: (run) => lookAtPools(run),
  });

async function planAll(run: Reading<Input>) {
  const plans = [];
  for (const pool of run.input.pools) {
    const one = { ...run, input: declared.rollout.input.parse(inputFor(run.input, pool)) };
    await findFloors(one);
    const { waves, to } = await planRollout(one);
    const moving = waves.reduce((sum, { nodes }) => sum + nodes.length, 0);
    plans.push({ pool, moving, to: `${to.image}:${to.version}` });
  }
  return plans;
}

/** Starts the next rollout; repeating it after a crash starts none twice. */
async function lookAtPools(run: Run<Input>): Promise<Looked<{ readonly pools: readonly string[] }>> {
  const { id: parent, by } = run.operation;
  const { pools } = run.input;
  for (const [index, pool] of pools.entries()) {
    const id = childId(parent, pool);
    const child = await run.journal.get(id);
    const again = (what: string) => ({
      ...{ againMs: maxCheckMs, sentence: `pool ${pool} (${index + 1} of ${pools.length}): ${what}` },
    });
    if (child === undefined) {
      await run
        .desk()
        .submit({ ...operationRequest(declared.rollout, inputFor(run.input, pool)), id, by, parent });
      return again('its rollout starts');
    }
    if (child.endedAt === undefined) return again(child.progress?.sentence ?? child.state);
    if (child.state === 'succeeded') continue;
    const left = pools.slice(index + 1);
    const rest = left.length === 0 ? '' : ` Not touched: ${left.join(', ')}.`;
    throw new ImagoError('operation-failed', `Pool ${pool}: ${child.error?.message ?? child.state}${rest}`, {
      retryable: false,
      hint: `See \`imago rollout status ${pool}\`.`,
    });
  }
  return { done: { pools } };
}

function inputFor({ pools: _pools, ...input }: Input, name: string) {
  return { ...input, name };
}

function childId(operation: string, pool: string): string {
  return `${operation}.${pool}`;
}
