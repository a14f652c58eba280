// Rollouts: their status, and pausing them.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { RolloutRecord } from '../../../domain/rollout/record.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

export const rolloutHandlers = {
  async showRollout({ context, path }) {
    const rollout = await requireRollout(context, path.pool);
    const operation = await context.journal.get(rollout.operation);
    if (operation === undefined) return rollout;
    const { state: operationState, currentStep: step, progress } = operation;
    return {
      ...{ ...rollout, operationState },
      ...(step !== undefined && { step }),
      ...(progress !== undefined && { sentence: progress.sentence }),
    };
  },
  pauseRollout: ({ context, path }) => preparePause(context, path.pool, true),
  resumeRollout: ({ context, path }) => preparePause(context, path.pool, false),
} satisfies Partial<Handlers>;

async function requireRollout(context: DaemonContext, name: string): Promise<RolloutRecord> {
  const pool = await requirePool(context, name);
  const rollout = await context.fleet.lastRollout(pool.name);
  if (rollout !== undefined) return rollout;
  throw new ImagoError('rollout-not-found', `Pool ${name} has had no rollout.`);
}

async function preparePause(context: DaemonContext, name: string, pause: boolean) {
  const rollout = await requireRollout(context, name);
  const ended = new ImagoError('operation-ended', `The rollout of pool ${name} has ended.`);
  if (rollout.state !== 'running') throw ended;
  return {
    subject: `pool/${name}`,
    plan: async () => [`${pause ? 'Pause' : 'Resume'} the rollout of pool ${name}.`],
    async run() {
      const changed = await context.fleet.pauseRollout(rollout.operation, pause);
      if (changed === undefined) throw ended;
      await context.operations.wake(rollout.operation);
      return changed;
    },
  };
}
