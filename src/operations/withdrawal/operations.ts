// Withdraws a broken version immediately, then replaces the nodes that run it, one at a time, until none is left;
// concurrently, galleries exclude it and get what their channels went back to. The withdrawal itself is one write and is
// never undone by a later failure.
import type * as z from 'zod';
import { latestChannel } from '../../domain/channel/channel.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { drainsFirst } from '../../domain/pool/pool.ts';
import { someOf } from '../../domain/value/summarize-list.ts';
import { parseTime } from '../../domain/value/time.ts';
import * as declared from '../../domain/withdrawal/operations.ts';
import { type ChannelFallback, liftable } from '../../domain/withdrawal/withdrawal.ts';
import type { WithdrawalOutcome } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { planCopies } from '../channel/copies.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { excludeFromLatest, latestStep, planLatest, unsynced } from '../gallery/sync-latest.ts';
import { affectedPools, stillStarts } from './affected.ts';
import { fallbackCopiesStep, fallenChannels } from './copies.ts';
import { cancelReplacements, lookAtReplacements, startReplacements } from './replace.ts';

type WithdrawInput = z.output<typeof declared.withdraw.input>;

/** The state of the version, for the audit. Throws if there is none. */
async function beforeChange(run: Reading<VersionName>) {
  const { image, version } = run.input;
  const known = await run.catalogue.getVersion(image, version);
  if (known === undefined) await run.catalogue.resolve(`${image}:${version}`);
  return { before: { image, version, digest: known?.digest, state: known?.state } };
}

export const withdraw = operation(declared.withdraw, { prepare: beforeChange, plan: planWithdrawal })
  .step('withdraw', async (run) => {
    const { withdrawals } = run.lifecycle;
    const { image, version, reason, descendants, at, withdrawal: id } = run.input;
    const outcome =
      id === undefined
        ? await withdrawals.withdraw({
            ...{ image, version, reason, withDescendants: descendants, ...(at !== undefined && { at }) },
            ...{ by: run.operation.by, operation: run.operation.id },
          })
        : await withdrawals.apply(id);
    if (outcome !== undefined) return withdrawn(outcome);
    throw new ImagoError('version-state', `Withdrawal ${id} was lifted before it was due.`);
  })
  // Starts the operations that replace the nodes; they run while galleries are updated.
  .step('pools', { do: (run) => startReplacements(run, takenOut(run)), undo: cancelReplacements })
  .step('galleries', (run) => excludeFromLatest(run, takenOut(run)))
  .use(fallbackCopiesStep(takenOut))
  .use(
    latestStep(async (run: WithdrawRun) => {
      const fallen = await fallenChannels(run, takenOut(run));
      return fallen.map(({ image, name: channel }) => ({ image, channel }));
    }),
  )
  // Holds nothing while it waits; a cancel is passed on by the undo of `pools`.
  .until('replace', {
    patience: () => ({ timeoutMs: 30 * 24 * 3_600_000 }),
    look: (run) => lookAtReplacements(run, run.result('pools')),
  })
  // A gallery or a pool that failed fails the operation: the withdrawal is in effect all the same.
  .step('report', async (run) => {
    const { versions, planned, effectiveAt, channels } = run.result('withdraw');
    const galleries = run.result('galleries');
    const copies = run.result('copies');
    const failed = [...galleries.failed, ...copies.failed, ...run.result('replace').failed];
    const { image, version } = run.input;
    if (failed.length > 0) {
      throw new ImagoError(
        'nodes-left',
        `${image}:${version} is withdrawn, but not everything followed: ${failed.map(withoutStop).join('; ')}.`,
        { hint: 'Fix the reported problems, then run `imago op retry` on this operation.' },
      );
    }
    const pools = planned ? [] : await affectedPools(run, versions);
    return {
      ...{ image, version, planned, effectiveAt, channels },
      versions: versions.map((name) => `${name.image}:${name.version}`),
      galleries: galleries.told,
      copies: copies.copied,
      ...unsynced(run),
      nodes: pools.reduce((sum, { nodes }) => sum + nodes, 0),
      pools,
    };
  });

type WithdrawRun = Run<unknown, { readonly withdraw: ReturnType<typeof withdrawn> }>;

/** What is withdrawn by now; nothing while it is only planned. */
function takenOut(run: Pick<WithdrawRun, 'result'>): readonly VersionName[] {
  const { planned, versions } = run.result('withdraw');
  return planned ? [] : versions;
}

async function planWithdrawal(run: Reading<WithdrawInput>): Promise<readonly string[]> {
  const { image, version, descendants, at, replace } = run.input;
  const later = at !== undefined && parseTime(at).getTime() > run.clock.now();
  const { withdrawals } = run.lifecycle;
  const { versions, fallbacks } = await withdrawals.plan({ image, version, withDescendants: descendants });
  const names = versions
    .filter(({ state }) => state !== 'withdrawn')
    .map((name) => `${name.image}:${name.version}`);
  const emptied = new Set(
    fallbacks.flatMap((one) => (one.to === undefined ? [`${one.image}:${one.channel}`] : [])),
  );
  const pools = await affectedPools(run, versions, emptied);
  const nodes = pools.reduce((sum, pool) => sum + pool.nodes, 0);
  return [
    names.length === 0
      ? `${image}:${version} is already withdrawn.`
      : `Withdraw ${names.join(', ')}${later ? ` at ${at}` : ''}.`,
    ...pools.flatMap(({ pool, change, nodes: count }) => {
      if (change === undefined) return [];
      const stays = replace && count > 0 ? ' Until then, its nodes are not replaced.' : '';
      return [`${stillStarts(pool, change)}${stays}`];
    }),
    ...fallbacks.map(({ image: name, channel, from, to }) =>
      to === undefined
        ? `Leave ${name}:${channel} empty: it points at ${from} and has no earlier good version.`
        : `Move ${name}:${channel} from ${from} back to ${to}.`,
    ),
    `${nodes} nodes of ${pools.length} pools run it${replace ? ', and are replaced one at a time' : ''}.`,
    ...(replace && nodes > 0 ? [drainsFirst] : []),
    ...pools.map(({ pool, nodes: count, names: some }) => {
      const which = some.length === 0 ? '' : ` (${someOf(some)})`;
      return `Pool ${pool}: ${count} nodes${which}.`;
    }),
    ...(await planFallbacks(run, fallbacks)),
  ];
}

/** What galleries get afterwards. One that does not respond now may respond then, and delays nothing. */
async function planFallbacks(
  run: Reading,
  fallbacks: readonly ChannelFallback[],
): Promise<readonly string[]> {
  const planned: string[] = [];
  for (const { image, channel, to } of fallbacks) {
    if (to === undefined || channel === latestChannel) continue;
    try {
      const version = await requireVersion(run, image, to);
      planned.push(...(await planCopies(run, channel, version, 'then')));
      planned.push(...(await planLatest(run, { image, channel }, to)));
    } catch (thrown) {
      planned.push(`What galleries need then cannot be determined now: ${ensureImagoError(thrown).message}`);
    }
  }
  return planned;
}

function withdrawn({ withdrawal, versions, moves }: WithdrawalOutcome) {
  return {
    withdrawal: withdrawal.id,
    effectiveAt: withdrawal.effectiveAt,
    planned: withdrawal.appliedAt === undefined,
    versions: versions.map((name) => ({ ...name })),
    channels: moves
      .filter(({ channel }) => channel !== 'latest')
      .map(({ image, channel, from, to }) =>
        to === undefined
          ? `${image}:${channel} is empty: it left ${from} and has no earlier good version`
          : `${image}:${channel} went from ${from} back to ${to}`,
      ),
  };
}

/** Channels and nodes stay where they are: moving them is a separate decision. */
export const restoreVersion = operation(declared.restoreVersion, {
  prepare: beforeChange,
  async plan(run) {
    const { image, version } = run.input;
    const { withdrawals } = run.lifecycle;
    const name = `${image}:${version}`;
    const record = await run.catalogue.getVersion(image, version);
    if (record === undefined) await run.catalogue.resolve(name);
    const all = await withdrawals.of({ image, version });
    const ancestors = new Map<number, string>();
    for (const { cause } of all) {
      const ancestor = cause === undefined ? undefined : await withdrawals.get(cause);
      if (ancestor !== undefined) ancestors.set(ancestor.id, `${ancestor.image}:${ancestor.version}`);
    }
    const lifted = liftable(name, record?.state ?? 'unknown', all, (cause) => ancestors.get(cause) ?? name);
    const planned = lifted.length > 0 && lifted.every(({ appliedAt }) => appliedAt === undefined);
    return [
      planned ? `Cancel the planned withdrawal of ${name}.` : `Make ${name} usable again.`,
      'Channels and nodes stay where they are.',
    ];
  },
}).step('restore', async (run) => {
  const { image, version, why } = run.input;
  const { by, id } = run.operation;
  const outcome = await run.lifecycle.withdrawals.restore({ image, version }, { by, why, operation: id });
  return {
    ...{ image, version, state: outcome.version.state, left: outcome.left },
    restored: outcome.restored.map((name) => `${name.image}:${name.version}`),
  };
});

/** Some of the parts are whole sentences. */
function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}
