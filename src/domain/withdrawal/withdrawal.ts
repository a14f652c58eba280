// Withdrawals: why versions are out of use. One is asked for a version, at once or from a time on, and can pass
// on to everything made from it. What was inherited ends only with the ancestor's; what was asked for beats
// what was inherited; of several the earliest date wins.
import { type ChannelMove, type ChannelRecord, type ReturnFit, wayBack } from '../channel/channel.ts';
import { earlierVersions } from '../channel/log.ts';
import { ImagoError } from '../error/imago-error.ts';
import type { Withdrawal } from './record.ts';

export type { Withdrawal } from './record.ts';

type Standing = Pick<Withdrawal, 'id' | 'cause' | 'effectiveAt' | 'appliedAt' | 'liftedAt'>;

/** Whether it keeps its version out of use now. */
export function isInForce({ appliedAt, liftedAt }: Pick<Withdrawal, 'appliedAt' | 'liftedAt'>): boolean {
  return appliedAt !== undefined && liftedAt === undefined;
}

/** The one that speaks for the version: asked for before inherited, then the earliest; `undefined` when none is in force. */
export function standingWithdrawal<T extends Standing>(withdrawals: readonly T[]): T | undefined {
  return withdrawals.filter(isInForce).sort(compareWeight)[0];
}

function compareWeight(a: Standing, b: Standing): number {
  const inherited = Number(a.cause !== undefined) - Number(b.cause !== undefined);
  return inherited || Date.parse(a.effectiveAt) - Date.parse(b.effectiveAt) || a.id - b.id;
}

/** Throws `reason-missing`. */
export function checkReason(subject: string, reason: string): string {
  if (reason.trim() !== '') return reason.trim();
  throw new ImagoError('reason-missing', `${subject} cannot be withdrawn without a reason.`);
}

/** What a channel that loses its version goes back to; without `to` it becomes empty. */
export interface ChannelFallback {
  readonly image: string;
  readonly channel: string;
  readonly from: string;
  readonly to?: string;
}

/** Finds the nearest earlier version of the channel that is still good. A channel that has none becomes empty. */
export function channelFallback(
  channel: Pick<ChannelRecord, 'image' | 'name'>,
  from: string,
  moves: readonly ChannelMove[],
  fitOf: (version: string) => ReturnFit,
): ChannelFallback {
  const { image, name } = channel;
  const to = wayBack(
    earlierVersions(moves).filter((version) => version !== from),
    fitOf,
  );
  return { image, channel: name, from, ...(to === undefined ? {} : { to }) };
}

/**
 * The withdrawals that a restore of the version lifts: those that were asked for it. Throws `version-state` when
 * it is not withdrawn or its disk is gone, and `withdrawal-inherited` when only an ancestor can be restored.
 */
export function liftable(
  subject: string,
  state: string,
  withdrawals: readonly Withdrawal[],
  ancestorOf: (cause: number) => string,
): readonly Withdrawal[] {
  if (state === 'deleted') {
    throw new ImagoError('version-state', `${subject} is deleted: its disk is gone.`, {
      hint: 'Build it again: it gets a new number.',
    });
  }
  const live = withdrawals.filter(({ liftedAt }) => liftedAt === undefined);
  const asked = live.filter(({ cause }) => cause === undefined);
  if (asked.length > 0) return asked;
  const inherited = live[0];
  if (inherited?.cause !== undefined) {
    const ancestor = ancestorOf(inherited.cause);
    throw new ImagoError('withdrawal-inherited', `${subject} is out because ${ancestor} was withdrawn.`, {
      hint: `Restore the ancestor with \`imago image restore ${ancestor}\`.`,
    });
  }
  if (state === 'withdrawn') return [];
  throw new ImagoError('version-state', `${subject} is ${state}: there is nothing to restore.`, {
    ...(state === 'deprecated'
      ? { hint: 'Its support has ended; set another day with `imago support set`, or take it back.' }
      : {}),
  });
}
