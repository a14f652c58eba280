// Withdraw: takes a broken version out at once, then replaces the nodes that run it, one at a time, until none is left;
// meanwhile galleries are told, and get what their channels went back to. The withdrawal itself is one write and is
// never undone by what fails later.
import * as z from 'zod';
import { latestChannel } from '../../domain/channel/channel.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { noDrain } from '../../domain/pool/pool.ts';
import type { Json } from '../../domain/value/json.ts';
import { someOf } from '../../domain/value/summarize-list.ts';
import { parseTime } from '../../domain/value/time.ts';
import { type ChannelFallback, checkReason } from '../../domain/withdrawal/withdrawal.ts';
import type { WithdrawalOutcome, WithdrawRequest } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { planCopies } from '../channel/copies.ts';
import { requireVersion } from '../channel/promote.ts';
import type { OperationDeps } from '../common/deps.ts';
import { type ToldGalleries, tellGalleries } from '../gallery/exclude-from-latest.ts';
import { latestStep, planLatest, untold } from '../gallery/sync-latest.ts';
import { affectedPools, stillStarts } from './affected.ts';
import { copiedFallbacks, fallbackCopiesStep, fallenChannels } from './copies.ts';
import {
  awaitReplacements,
  cancelReplacements,
  type ReplacedPools,
  type StartedPools,
  startReplacements,
} from './replace.ts';

const withdrawInput = z.object({
  image: z.string(),
  version: z.string(),
  reason: z.string(),
  descendants: z.boolean().default(false),
  at: z.string().optional(),
  /** Replace the nodes that run what is taken out. */
  replace: z.boolean().default(false),
  /** Of a withdrawal that was planned and is due now. */
  withdrawal: z.int().optional(),
});
export type WithdrawInput = z.infer<typeof withdrawInput>;

/** What the first step leaves for the others. */
export interface Withdrawn {
  readonly withdrawal: number;
  readonly effectiveAt: string;
  /** The time has not come: nothing else is done now. */
  readonly planned: boolean;
  readonly versions: readonly (VersionName & { readonly digest: string })[];
  readonly channels: readonly string[];
}

export function withdrawOperation(deps: OperationDeps): OperationKind<WithdrawInput> {
  return {
    kind: 'withdraw',
    parse(input) {
      const parsed = parseInput(withdrawInput, input);
      checkReason(`${parsed.image}:${parsed.version}`, parsed.reason);
      if (parsed.at !== undefined) parseTime(parsed.at);
      return parsed;
    },
    /** It waits for nobody: the store lets one write to an image in at a time, and pools have keys of their own. */
    key: (_input, id) => `withdraw/${id}`,
    plan: (input) => planWithdrawal(deps, input),
    steps: () => [
      withdrawStep(deps),
      poolsStep(deps),
      galleriesStep(deps),
      fallbackCopiesStep<WithdrawInput>(deps, takenOut),
      latestStep<WithdrawInput>(deps, async (context) =>
        (await fallenChannels(deps, takenOut(context))).map(({ image, name: channel }) => ({
          image,
          channel,
        })),
      ),
      replaceStep(deps),
      reportStep(deps),
    ],
  };
}

async function planWithdrawal(deps: OperationDeps, input: WithdrawInput): Promise<readonly string[]> {
  const { image, version, descendants, at, replace } = input;
  const later = at !== undefined && parseTime(at).getTime() > deps.clock.now();
  const { withdrawals } = deps.lifecycle;
  const { versions, fallbacks } = await withdrawals.plan({ image, version, withDescendants: descendants });
  const names = versions
    .filter(({ state }) => state !== 'withdrawn')
    .map((name) => `${name.image}:${name.version}`);
  const emptied = new Set(
    fallbacks.flatMap((one) => (one.to === undefined ? [`${one.image}:${one.channel}`] : [])),
  );
  const pools = await affectedPools(deps, versions, emptied);
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
    ...(replace && nodes > 0 ? [noDrain] : []),
    ...pools.map(({ pool, nodes: count, names: some }) => {
      const which = some.length === 0 ? '' : ` (${someOf(some)})`;
      return `Pool ${pool}: ${count} nodes${which}.`;
    }),
    ...(await planFallbacks(deps, fallbacks)),
  ];
}

/** What galleries get afterwards. One that cannot be asked now may well answer then, and keeps nothing waiting. */
async function planFallbacks(
  deps: OperationDeps,
  fallbacks: readonly ChannelFallback[],
): Promise<readonly string[]> {
  const planned: string[] = [];
  for (const { image, channel, to } of fallbacks) {
    if (to === undefined || channel === latestChannel) continue;
    try {
      const version = await requireVersion(deps, image, to);
      planned.push(...(await planCopies(deps, channel, version, 'then')));
      planned.push(...(await planLatest(deps, { image, channel }, to)));
    } catch (thrown) {
      planned.push(`What galleries need then cannot be told now: ${ensureImagoError(thrown).message}`);
    }
  }
  return planned;
}

function withdrawStep(deps: OperationDeps): WorkStep<WithdrawInput> {
  return {
    name: 'withdraw',
    async do(context) {
      const { withdrawals } = deps.lifecycle;
      const { withdrawal: id } = context.input;
      const outcome =
        id === undefined ? await withdrawals.withdraw(requestOf(context)) : await withdrawals.apply(id);
      if (outcome === undefined) {
        throw new ImagoError('version-state', `Withdrawal ${id} was lifted before it was due.`);
      }
      return { ...withdrawn(outcome) };
    },
  };
}

function requestOf({ input, operation }: StepContext<WithdrawInput>): WithdrawRequest {
  const { image, version, reason, descendants, at } = input;
  const when = at === undefined ? {} : { at };
  return {
    image,
    version,
    reason,
    withDescendants: descendants,
    ...when,
    by: operation.by,
    operation: operation.id,
  };
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

function galleriesStep(deps: OperationDeps): WorkStep<WithdrawInput> {
  return {
    name: 'galleries',
    async do(context) {
      const out = takenOut(context);
      if (out.length === 0) return { told: [], failed: [] };
      return { ...(await tellGalleries(deps, out, context)) } as unknown as Json;
    },
  };
}

/** What is out by now; nothing while it is only planned. */
function takenOut(context: StepContext<unknown>): readonly VersionName[] {
  const { planned, versions } = requireResult<Withdrawn>(context, 'withdraw');
  return planned ? [] : versions;
}

/** Starts what replaces the nodes, which then goes on while galleries are told and filled. */
function poolsStep(deps: OperationDeps): WorkStep<WithdrawInput> {
  return {
    name: 'pools',
    async do(context) {
      return { ...(await startReplacements(deps, takenOut(context), context)) } as unknown as Json;
    },
    undo: (context) => stopReplacing(deps, context),
  };
}

/** Waits until they are replaced. One that an earlier Imago began has started nothing before. */
function replaceStep(deps: OperationDeps): WorkStep<WithdrawInput> {
  return {
    name: 'replace',
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const known = context.result<Json>('pools') as unknown as StartedPools | undefined;
      const started = known ?? (await startReplacements(deps, takenOut(context), context));
      return { ...(await awaitReplacements(deps, started, context)) } as unknown as Json;
    },
    undo: (context) => stopReplacing(deps, context),
  };
}

/** Nodes that were replaced stay so, and so does the withdrawal; what still runs is stopped. */
async function stopReplacing(deps: OperationDeps, context: StepContext<WithdrawInput>): Promise<'kept'> {
  await cancelReplacements(deps, context);
  return 'kept';
}

/** What could not be told or replaced fails the operation: the withdrawal is in force all the same. */
function reportStep(deps: OperationDeps): WorkStep<WithdrawInput> {
  return {
    name: 'report',
    async do(context) {
      const out = requireResult<Withdrawn>(context, 'withdraw');
      const galleries = requireResult<ToldGalleries>(context, 'galleries');
      const copies = copiedFallbacks(context);
      const replaced = requireResult<ReplacedPools>(context, 'replace');
      const failed = [...galleries.failed, ...copies.failed, ...replaced.failed];
      const { image, version } = context.input;
      if (failed.length > 0) {
        throw new ImagoError(
          'nodes-left',
          `${image}:${version} is withdrawn, but not everything followed: ${failed.join('; ')}.`,
          { hint: 'Mend what is named, then run `imago op retry` on this operation.' },
        );
      }
      const pools = out.planned ? [] : await affectedPools(deps, out.versions);
      return {
        image,
        version,
        planned: out.planned,
        effectiveAt: out.effectiveAt,
        versions: out.versions.map((name) => `${name.image}:${name.version}`),
        channels: [...out.channels],
        galleries: [...galleries.told],
        copies: [...copies.copied],
        ...untold(context),
        nodes: pools.reduce((sum, { nodes }) => sum + nodes, 0),
        pools: pools.map((pool) => ({ ...pool, names: [...pool.names] })),
      };
    },
  };
}
