// Moves the nodes of a pool to a version in waves, two canaries first. If a moved node fails, everything returns to the
// last good version, and the version is refused in this pool from then on.
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/rollout/operations.ts';
import { waveNames } from '../../domain/rollout/plan.ts';
import { toIso } from '../../domain/value/time.ts';
import { operation } from '../common/operation.ts';
import { openPool, requirePool } from '../node/pool-nodes.ts';
import { previewDrains } from '../node/service.ts';
import { poolSetImage, restoreModel } from '../pool/set-image.ts';
import { findFloors } from './floors.ts';
import { stopMoves } from './observe.ts';
import { drainOf, planRollout, waveShares } from './target.ts';
import { lookAtReturn, lookAtWave, paced, type RolloutRun, type WaveResult } from './waves.ts';

export { rolloutNode } from './node.ts';
export { replaceNodes } from './replace-nodes.ts';
export { rolloutSeries } from './series.ts';

/** A rollout has itself as a child. */
const declaredOnly = { declaration: declared.rollout };
const patienceMs = 30 * 24 * 3_600_000;

export const rollout = operation(declared.rollout, {
  async plan(run) {
    const { waves, current, to, from, maxUnavailable } = await planRollout(run);
    const { name } = run.input;
    const pool = await requirePool(run, name);
    const through = await findFloors(run);
    const moving = waves.reduce((sum, { nodes }) => sum + nodes.length, 0);
    return [
      ...through.map(
        (floor) => `First move the nodes of pool ${name} to ${floor}, which the policy has as a floor.`,
      ),
      `Create new nodes of pool ${name} from ${to.image}:${to.version}, then move ${moving} nodes, at most ${maxUnavailable} at a time.`,
      ...(current.length > 0 ? [`Skip ${current.length} nodes that run it already.`] : []),
      ...waves.flatMap((wave) =>
        wave.nodes.length === 0 ? [] : [`${wave.name}: ${wave.nodes.length} nodes: ${wave.nodes.join(', ')}`],
      ),
      `If a moved node fails, return to ${from.image}:${from.version}.`,
      ...(await previewDrains(run, pool, drainOf(run.input), waves[0]?.nodes ?? [])),
    ];
  },
})
  .step('floors', async (run) => ({ through: await findFloors(run) }))
  // The highest one: its own rollout passes through those below.
  .child('through', declaredOnly, (run) => {
    const reference = run.result('floors').through.at(-1);
    return reference === undefined ? undefined : { ...run.input, reference };
  })
  .step('plan', (run) => planRollout(run))
  .step('begin', {
    async do(run) {
      const plan = run.result('plan');
      const { image, version, digest } = plan.to;
      await run.fleet.putRollout({
        ...{ operation: run.operation.id, pool: run.input.name, image, version, digest, from: plan.from },
        ...{ state: 'running', at: toIso(new Date(run.clock.now())) },
      });
      return {};
    },
    /** Stops the nodes that still move. Moved nodes stay; new nodes get what they got before. */
    async undo(run) {
      const { name } = run.input;
      const record = await run.fleet.lastRollout(name);
      // One that was cancelled in its last moment is recorded as succeeded already.
      if (record?.operation !== run.operation.id || record.state === 'rolled-back') return 'kept';
      await stopMoves(run);
      const pool = await run.fleet.getPool(name);
      if (pool !== undefined) await restoreModel(run, pool, run.result('plan').before);
      await run.fleet.putRollout({ ...record, state: 'cancelled' });
      return undefined;
    },
  })
  .child('model', poolSetImage, (run) => {
    const { to, before } = run.result('plan');
    if (to.digest === before.digest || run.input.undo) return undefined;
    return { name: run.input.name, reference: to.reference, pin: to.follows === undefined };
  })
  .step('restore-model', {
    when: ({ undo }) => undo,
    async do(run) {
      const { pool } = await openPool(run, run.input.name);
      await restoreModel(run, pool, run.result('plan').to);
      return {};
    },
  })
  .steps<Readonly<Record<string, WaveResult>>>((input) =>
    waveNames(waveShares(input)).map((name) => ({
      name,
      patience: () => ({ timeoutMs: patienceMs }),
      look: async (run: RolloutRun) =>
        findBreach(run) === undefined ? paced(run, () => lookAtWave(run, name)) : { done: { failed: [] } },
    })),
  )
  .step('back-model', async (run) => {
    const reason = findBreach(run);
    if (reason === undefined) return {};
    const { name } = run.input;
    const record = await run.fleet.lastRollout(name);
    // Recorded first: from here on, the pool no longer follows its channel to this version.
    if (record?.operation === run.operation.id) {
      await run.fleet.putRollout({ ...record, state: 'rolled-back', reason });
    }
    await stopMoves(run);
    const { pool } = await openPool(run, name);
    await restoreModel(run, pool, run.result('plan').from);
    return { reason };
  })
  .until('back', {
    patience: () => ({ timeoutMs: patienceMs }),
    look: async (run) =>
      findBreach(run) === undefined ? { done: { failed: [] } } : paced(run, () => lookAtReturn(run)),
  })
  .step('report', async (run) => {
    const { name } = run.input;
    const { to, from, waves } = run.result('plan');
    const reason = findBreach(run);
    if (reason !== undefined) {
      const stuck = run.result('back').failed;
      const left = stuck.length === 0 ? '' : `. These nodes could not return: ${stuck.join(', ')}.`;
      throw new ImagoError(
        'rollout-rolled-back',
        `Pool ${name} returned from ${to.image}:${to.version} to ${from.image}:${from.version}: ${reason}${left}`,
        { retryable: false },
      );
    }
    const record = await run.fleet.lastRollout(name);
    if (record?.operation === run.operation.id) await run.fleet.putRollout({ ...record, state: 'succeeded' });
    const results = waveNames(waveShares(run.input)).map((wave) => run.maybe(wave));
    return {
      ...{ name, image: to.image, version: to.version },
      moved: waves.reduce((sum, { nodes }) => sum + nodes.length, 0),
      failed: results.flatMap((result) => (result as WaveResult | undefined)?.failed ?? []),
    };
  });

function findBreach(run: Pick<RolloutRun, 'input' | 'maybe'>): string | undefined {
  const results = waveNames(waveShares(run.input)).map((name) => run.maybe(name) as WaveResult | undefined);
  return results.find((result) => result?.breach !== undefined)?.breach;
}
