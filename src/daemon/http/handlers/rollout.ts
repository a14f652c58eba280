// Rollouts: their plan and status, and pausing, cancelling, and undoing them.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import * as declared from '../../../domain/rollout/operations.ts';
import type { RolloutRecord } from '../../../domain/rollout/record.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import { describePlan, describeRollout } from '../../../operations/rollout/status.ts';
import type { Handlers, PreparedWrite } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { requireProvider } from '../endpoint/require-provider.ts';
import { startOperation } from '../endpoint/start-operation.ts';

export const rolloutHandlers = {
  showRollout: async ({ context, path }) =>
    describeRollout(context, await requireRollout(context, path.pool)),
  async planRollout({ context, path, body, signal }) {
    return describePlan({
      ...context,
      input: declared.rollout.input.parse({ ...body, name: path.pool }),
      call: { signal, epoch: context.epoch ?? 0 },
      provider: (name) => requireProvider(context, name),
      clusterOf: async ({ cluster }) => (cluster === undefined ? undefined : context.clusters?.open(cluster)),
    });
  },
  pauseRollout: ({ context, path }) => preparePause(context, path.pool, true),
  resumeRollout: ({ context, path }) => preparePause(context, path.pool, false),
  async cancelRollout({ context, path: { pool }, caller }) {
    const rollout = await requireRunning(context, pool);
    return {
      subject: `pool/${pool}`,
      plan: async () => [
        `Stop the rollout of pool ${pool}. Moved nodes stay; new nodes are created from ${rollout.from.image}:${rollout.from.version} again.`,
      ],
      async run() {
        await context.operations.cancel(rollout.operation, caller.who);
        return rollout;
      },
    };
  },
  /** A rollout that still runs is cancelled first; the undo waits until it has ended. */
  async undoRollout(call) {
    const { context, path, caller } = call;
    const rollout = await requireRollout(context, path.pool);
    const input = { ...call.body, name: path.pool, undo: true };
    const prepared = await startOperation(call, declared.rollout, input);
    if (rollout.state !== 'running') return prepared;
    return {
      ...prepared,
      plan: async () => [`Cancel the rollout that runs.`, ...(await prepared.plan())],
      async run() {
        const operation = await context.journal.get(rollout.operation);
        if (operation !== undefined && operation.endedAt === undefined) {
          await context.operations.cancel(rollout.operation, caller.who);
        }
        return prepared.run();
      },
    };
  },
} satisfies Partial<Handlers>;

async function requireRollout(context: DaemonContext, name: string): Promise<RolloutRecord> {
  const pool = await requirePool(context, name);
  const rollout = await context.fleet.lastRollout(pool.name);
  if (rollout !== undefined) return rollout;
  throw new ImagoError('rollout-not-found', `Pool ${name} has had no rollout.`);
}

async function requireRunning(context: DaemonContext, name: string): Promise<RolloutRecord> {
  const rollout = await requireRollout(context, name);
  if (rollout.state === 'running') return rollout;
  throw hasEnded(name);
}

function hasEnded(pool: string): ImagoError {
  return new ImagoError('operation-ended', `The rollout of pool ${pool} has ended.`);
}

async function preparePause(
  context: DaemonContext,
  name: string,
  pause: boolean,
): Promise<PreparedWrite<RolloutRecord>> {
  const rollout = await requireRunning(context, name);
  return {
    subject: `pool/${name}`,
    plan: async () => [`${pause ? 'Pause' : 'Resume'} the rollout of pool ${name}.`],
    async run() {
      const changed = await context.fleet.pauseRollout(rollout.operation, pause);
      if (changed === undefined) throw hasEnded(name);
      await context.operations.wake(rollout.operation);
      return changed;
    },
  };
}
