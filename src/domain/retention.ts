// What may go and what keeps the rest (rule 7). A version stays while anything needs it; by default that also
// counts what each channel and each pool had before, so that going back is always possible.
import { type ChannelMove, type ChannelRecord, channelTakes } from './channel.ts';
import { earlierVersions } from './channel-log.ts';
import { compareAge, type VersionRecord } from './version.ts';

export const keeperKinds = [
  'channel',
  'channel-rollback',
  'pool',
  'pool-rollback',
  'node',
  'descendant',
  'operation',
  'hold',
  'newest',
  'count',
  'age',
] as const;
export type KeeperKind = (typeof keeperKinds)[number];

export interface Keeper {
  readonly kind: KeeperKind;
  /** The channel, the pool, one of the nodes, the descendant, the reason of a hold. */
  readonly name: string;
  /** How many there are of this kind; absent: one. */
  readonly count?: number | undefined;
}

/** Beyond what is needed anyway. */
export interface RetentionPolicy {
  /** The newest so many usable versions of each image stay. */
  readonly keepCount?: number;
  /** What is younger than so many days stays. */
  readonly keepDays?: number;
}

export type RetainedVersion = Pick<
  VersionRecord,
  'image' | 'version' | 'state' | 'digest' | 'diskDigest' | 'sizeBytes' | 'createdAt'
>;

/** Something that needs a version, as it was read: a pool, nodes, a descendant, an operation, a hold. */
export interface VersionUse extends Keeper {
  readonly image: string;
  readonly version: string;
}

export interface RetentionFacts {
  /** All that are not deleted, of the images in question. */
  readonly versions: readonly RetainedVersion[];
  readonly channels: readonly ChannelRecord[];
  /** All moves of these channels. */
  readonly moves: readonly Pick<ChannelMove, 'id' | 'image' | 'channel' | 'to'>[];
  readonly uses: readonly VersionUse[];
}

export interface RetentionEntry extends RetainedVersion {
  /** Empty when it can go. */
  readonly keepers: readonly Keeper[];
}

const dayMs = 86_400_000;

/** Every version with what keeps it, by image and age, oldest first. */
export function planRetention(
  facts: RetentionFacts,
  policy: RetentionPolicy,
  now: Date,
): readonly RetentionEntry[] {
  const keepers = new Map<string, Keeper[]>();
  const keep = (image: string, version: string, keeper: Keeper) => {
    const key = `${image}:${version}`;
    const known = keepers.get(key);
    if (known === undefined) keepers.set(key, [keeper]);
    else known.push(keeper);
  };
  keepChannels(facts, keep);
  for (const { image, version, kind, name, count } of facts.uses) {
    keep(image, version, { kind, name, ...(count === undefined || count === 1 ? {} : { count }) });
  }
  keepByAge(facts.versions, policy, now, keep);
  return facts.versions
    .map((version) => ({ ...version, keepers: keepers.get(`${version.image}:${version.version}`) ?? [] }))
    .toSorted((a, b) => (a.image === b.image ? compareAge(a, b) : a.image < b.image ? -1 : 1));
}

type Keep = (image: string, version: string, keeper: Keeper) => void;

function keepChannels({ versions, channels, moves }: RetentionFacts, keep: Keep): void {
  const states = new Map(versions.map(({ image, version, state }) => [`${image}:${version}`, state]));
  const byChannel = Map.groupBy(moves, ({ image, channel }) => `${image}:${channel}`);
  for (const channel of channels) {
    const { image, name } = channel;
    if (channel.version !== undefined) keep(image, channel.version, { kind: 'channel', name });
    if (channel.managed) continue;
    const isGood = (version: string) => {
      const state = states.get(`${image}:${version}`);
      return version !== channel.version && state !== undefined && channelTakes(channel, state);
    };
    const log = byChannel.get(`${image}:${name}`) ?? [];
    const back = earlierVersions(rollbackMoves(log)).find(isGood);
    const before = lastOther(log, channel.version);
    if (back !== undefined) keep(image, back, { kind: 'channel-rollback', name });
    if (before !== undefined && before !== back && isGood(before)) {
      keep(image, before, { kind: 'channel-rollback', name });
    }
  }
}

/** Where the channel was before, also when it was taken back from there. */
function lastOther(moves: RetentionFacts['moves'], current: string | undefined): string | undefined {
  const others = moves.filter(({ to }) => to !== undefined && to !== current);
  return others.reduce<RetentionFacts['moves'][number] | undefined>(
    (last, move) => (last === undefined || move.id > last.id ? move : last),
    undefined,
  )?.to;
}

/** What `earlierVersions` looks at; the other fields of a move play no part. */
function rollbackMoves(moves: RetentionFacts['moves']): readonly ChannelMove[] {
  return moves.map((move) => ({ ...move, toDigest: '', by: '', why: '', at: '' }));
}

function keepByAge(
  versions: readonly RetainedVersion[],
  { keepCount = 0, keepDays = 0 }: RetentionPolicy,
  now: Date,
  keep: Keep,
): void {
  const youngSince = now.getTime() - keepDays * dayMs;
  for (const [image, all] of Map.groupBy(versions, (version) => version.image)) {
    const usable = all.filter(({ state }) => state !== 'withdrawn').toSorted((a, b) => compareAge(b, a));
    for (const [index, { version }] of usable.entries()) {
      if (index === 0) keep(image, version, { kind: 'newest', name: image });
      else if (index < keepCount) keep(image, version, { kind: 'count', name: `newest ${keepCount}` });
    }
    for (const { version, createdAt } of all) {
      if (keepDays > 0 && Date.parse(createdAt) > youngSince) {
        keep(image, version, { kind: 'age', name: `younger than ${keepDays} days` });
      }
    }
  }
}

export interface RetentionTotals {
  readonly kept: number;
  readonly going: number;
  /** Of disks that only versions which go have: one that two versions share counts once, and only if both go. */
  readonly freedBytes: number;
}

export function retentionTotals(entries: readonly RetentionEntry[]): RetentionTotals {
  const stays = new Set(
    entries.filter(({ keepers }) => keepers.length > 0).map(({ diskDigest }) => diskDigest),
  );
  const goes = entries.filter(({ keepers }) => keepers.length === 0);
  const freed = new Map(goes.map(({ diskDigest, sizeBytes }) => [diskDigest, sizeBytes]));
  let freedBytes = 0;
  for (const [digest, bytes] of freed) if (!stays.has(digest)) freedBytes += bytes;
  return { kept: entries.length - goes.length, going: goes.length, freedBytes };
}

/** `channel production`, `212 nodes (web-00000a, …)`. */
export function describeKeeper({ kind, name, count = 1 }: Keeper): string {
  const some = (thing: string) => (count === 1 ? `${thing} ${name}` : `${count} ${thing}s (${name}, …)`);
  const words: Readonly<Record<KeeperKind, string>> = {
    channel: `channel ${name}`,
    'channel-rollback': `channel ${name} could go back to it`,
    pool: some('pool'),
    'pool-rollback': `${some('pool')} could go back to it`,
    node: some('node'),
    descendant: some('descendant'),
    operation: `operation ${name} runs`,
    hold: `held: ${name}`,
    newest: 'the newest of its image',
    count: `one of the ${name}`,
    age: name,
  };
  return words[kind];
}
