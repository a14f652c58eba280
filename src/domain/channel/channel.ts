// Channels: names that point at versions. Every move is appended to a log that is kept for ever, and the log
// alone tells where a channel points, now or at any time.
import { ImagoError } from '../error/imago-error.ts';
import { mixed } from '../image/simulated.ts';
import { compareAge, type VersionRecord } from '../image/version.ts';
import type { VersionState } from '../image/version-state.ts';
import type { ChannelRecord } from './record.ts';

export type { ChannelMove, ChannelRecord } from './record.ts';

/** The channel that Imago moves itself: the newest available version. */
export const latestChannel = 'latest';

/** What a new image begins with. */
export const usualChannels = [
  { name: 'staging', forTesting: true, managed: false },
  { name: 'production', forTesting: false, managed: false },
  { name: latestChannel, forTesting: false, managed: true },
] as const satisfies readonly Pick<ChannelRecord, 'name' | 'forTesting' | 'managed'>[];

type Target = Pick<
  ChannelRecord,
  'image' | 'name' | 'forTesting' | 'managed' | 'public' | 'simulated' | 'version'
>;
type Candidate = Pick<VersionRecord, 'image' | 'version' | 'state' | 'restricted' | 'simulated'>;

export interface MoveCheck {
  /** The version that the caller believes the channel points at (`null`: none). */
  readonly expect?: string | null;
  /** It goes back: a version whose support has ended is taken too. */
  readonly back?: boolean;
}

/**
 * `true` when the channel is to be moved, `false` when it points there already: so a caller that lost the
 * reply to a move may repeat it. Throws `channel-managed`, `version-withdrawn`, `version-state`,
 * `channel-untested`, `channel-restricted`, `simulation-mixed` or `channel-moved`; no option gets around them.
 */
export function checkMove(channel: Target, version: Candidate, check: MoveCheck = {}): boolean {
  const name = `${channel.image}:${channel.name}`;
  requireUnmanaged(channel);
  if (version.image !== channel.image) {
    throw new ImagoError(
      'input-invalid',
      `${version.image}:${version.version} is no version of ${channel.image}.`,
    );
  }
  const takes =
    channelTakes(channel, version.state) || (check.back === true && version.state === 'deprecated');
  if (!takes) throw refusal(channel, version);
  if (channel.public && version.restricted === true) {
    throw new ImagoError(
      'channel-restricted',
      `${version.image}:${version.version} has private inputs, and ${channel.name} is public.`,
    );
  }
  if (channel.simulated !== version.simulated) {
    throw mixed(`${version.image}:${version.version}`, version.simulated, `channel ${name}`);
  }
  const now = channel.version ?? null;
  if (now === version.version) return false;
  if (check.expect !== undefined && check.expect !== now) {
    throw new ImagoError(
      'channel-moved',
      `${name} points at ${now ?? 'nothing'} by now, not at ${check.expect ?? 'nothing'}.`,
      { hint: `See who moved it with \`imago channel history ${name}\`.` },
    );
  }
  return true;
}

/** Throws `channel-managed` for the channel that Imago moves. */
export function requireUnmanaged({ image, name, managed }: Pick<Target, 'image' | 'name' | 'managed'>): void {
  if (!managed) return;
  throw new ImagoError(
    'channel-managed',
    `${image}:${name} is the newest available version and cannot be set.`,
    { hint: 'Move another channel. Imago moves this one when a version becomes available.' },
  );
}

/** Throws `channel-moved` if the channel does not point at the expected version; `none` expects an empty channel. */
export function checkPointer(
  { image, name, version = 'none' }: Pick<ChannelRecord, 'image' | 'name' | 'version'>,
  expect: string | undefined,
): void {
  if (expect === undefined || expect === version) return;
  throw new ImagoError('channel-moved', `${image}:${name} points at ${version} now, not at ${expect}.`, {
    hint: `See who moved it with \`imago channel history ${image}:${name}\`.`,
  });
}

/** Whether a channel may point at a version in this state: rule 4. */
export function channelTakes(channel: Pick<ChannelRecord, 'forTesting'>, state: VersionState): boolean {
  return state === 'available' || (channel.forTesting && state === 'candidate');
}

/** As much of a version as decides whether a channel may go back to it. */
export interface ReturnTarget {
  readonly state: VersionState;
  readonly restricted?: boolean | undefined;
  /** Its newest test failed: what it passed before does not count any more. */
  readonly testFailed?: boolean | undefined;
}

/** `poor` when its support has ended: better than what is broken, and taken only when nothing good is left. */
export type ReturnFit = 'good' | 'poor' | undefined;

export function fitToReturn(
  channel: Pick<ChannelRecord, 'forTesting' | 'public'>,
  { state, restricted, testFailed }: ReturnTarget,
): ReturnFit {
  if (channel.public && restricted === true) return undefined;
  if (!channel.forTesting && testFailed === true) return undefined;
  if (channelTakes(channel, state)) return 'good';
  return state === 'deprecated' ? 'poor' : undefined;
}

/** What the channel goes back to, of what it can, nearest first. */
export function wayBack(
  nearestFirst: readonly string[],
  fitOf: (version: string) => ReturnFit,
): string | undefined {
  return (
    nearestFirst.find((version) => fitOf(version) === 'good') ??
    nearestFirst.find((version) => fitOf(version) === 'poor')
  );
}

function refusal(channel: Target, { image, version, state }: Candidate): ImagoError {
  const subject = `${image}:${version}`;
  switch (state) {
    case 'withdrawn':
      return new ImagoError('version-withdrawn', `${subject} was withdrawn.`, {
        hint: `See why with \`imago image show ${subject}\`, and name another version.`,
      });
    case 'candidate':
      return new ImagoError(
        'channel-untested',
        `${subject} has not passed its tests, and ${channel.name} is not a channel for testing.`,
        { hint: `Run \`imago test ${subject}\` first.` },
      );
    default:
      return new ImagoError(
        'version-state',
        `${subject} is ${state}, and channels take available versions only.`,
        {
          ...(state === 'deprecated'
            ? {
                hint: `Its support has ended: \`imago image show ${subject}\` says by which date. It is available again soon after that date is set anew with \`imago support set\`, or taken back.`,
              }
            : {}),
        },
      );
  }
}

/** Throws `channel-backwards` when the version was made before the one that the channel points at. */
export function checkForward(
  channel: Pick<ChannelRecord, 'image' | 'name'>,
  now: Pick<VersionRecord, 'version' | 'createdAt'> | undefined,
  to: Pick<VersionRecord, 'version' | 'createdAt'>,
): void {
  if (now === undefined || compareAge(to, now) >= 0) return;
  const name = `${channel.image}:${channel.name}`;
  throw new ImagoError(
    'channel-backwards',
    `${name} points at ${now.version}, which was made after ${to.version}.`,
    { hint: `Pass --allow-downgrade, or roll back with \`imago channel rollback ${name}\`.` },
  );
}
