// What may go and what keeps the rest (rule 7). A version stays while anything needs it; by default that also
// counts what each channel and each pool had before, so that going back is always possible.
import { type ChannelRecord, fitToReturn, type ReturnTarget, wayBack } from '../channel/channel.ts';
import { trailOf } from '../channel/log.ts';
import { compareAge, type VersionRecord } from '../image/version.ts';

export const keeperKinds = [
  'channel',
  'channel-rollback',
  'pool',
  'pool-rollback',
  'node',
  'descendant',
  'operation',
  'hold',
  'matrix',
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
  readonly keepCount?: number | undefined;
  /** What is younger than so many days stays. */
  readonly keepDays?: number | undefined;
}

export type RetainedVersion = Pick<
  VersionRecord,
  'image' | 'version' | 'state' | 'digest' | 'diskDigest' | 'sizeBytes' | 'createdAt' | 'kubernetes'
> &
  ReturnTarget;

/** Something that needs a version, as it was read: a pool, nodes, a descendant, an operation, a hold. */
export interface VersionUse extends Keeper {
  readonly image: string;
  readonly version: string;
}

/** Every version that a channel was ever moved to, in the order of the moves. */
export interface ChannelTargets {
  readonly image: string;
  readonly channel: string;
  readonly targets: readonly string[];
}

export interface RetentionFacts {
  /** All that are not deleted, of the images in question. */
  readonly versions: readonly RetainedVersion[];
  readonly channels: readonly ChannelRecord[];
  /** Of these channels; one without moves may be left out. */
  readonly moves: readonly ChannelTargets[];
  readonly uses: readonly VersionUse[];
  /** The Kubernetes versions that the matrix of the recipe of each image lists. */
  readonly matrices: ReadonlyMap<string, readonly string[]>;
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
  const byImage = Map.groupBy(facts.versions, ({ image }) => image);
  const entries: RetentionEntry[] = [];
  for (const [image, versions] of [...byImage].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const oldestFirst = versions.toSorted(compareAge);
    keepByAge(image, oldestFirst, policy, now, keep);
    for (const kubernetes of facts.matrices.get(image) ?? []) {
      const newest = oldestFirst.findLast(
        (one) => one.kubernetes === kubernetes && one.state !== 'withdrawn',
      );
      if (newest !== undefined) keep(image, newest.version, { kind: 'matrix', name: kubernetes });
    }
    for (const version of oldestFirst) {
      entries.push({ ...version, keepers: keepers.get(`${image}:${version.version}`) ?? [] });
    }
  }
  return entries;
}

type Keep = (image: string, version: string, keeper: Keeper) => void;

function keepChannels({ versions, channels, moves }: RetentionFacts, keep: Keep): void {
  const known = new Map(versions.map((version) => [`${version.image}:${version.version}`, version]));
  const targetsOf = new Map(moves.map(({ image, channel, targets }) => [`${image}:${channel}`, targets]));
  for (const channel of channels) {
    const { image, name } = channel;
    if (channel.version !== undefined) keep(image, channel.version, { kind: 'channel', name });
    if (channel.managed) continue;
    const fitOf = (version: string) => {
      const target = known.get(`${image}:${version}`);
      return target === undefined || version === channel.version ? undefined : fitToReturn(channel, target);
    };
    const targets = targetsOf.get(`${image}:${name}`) ?? [];
    const current = targets.at(-1);
    const back = wayBack(
      trailOf(targets)
        .filter((version) => version !== current)
        .reverse(),
      fitOf,
    );
    // Where the channel was before, also when it was taken back from there.
    const before = targets.findLast((version) => version !== channel.version);
    if (back !== undefined) keep(image, back, { kind: 'channel-rollback', name });
    if (before !== undefined && before !== back && fitOf(before) !== undefined) {
      keep(image, before, { kind: 'channel-rollback', name });
    }
  }
}

function keepByAge(
  image: string,
  oldestFirst: readonly RetainedVersion[],
  { keepCount = 0, keepDays = 0 }: RetentionPolicy,
  now: Date,
  keep: Keep,
): void {
  const youngSince = now.getTime() - keepDays * dayMs;
  const usable = oldestFirst.filter(({ state }) => state !== 'withdrawn').reverse();
  for (const [index, { version }] of usable.slice(0, Math.max(1, keepCount)).entries()) {
    if (index === 0) keep(image, version, { kind: 'newest', name: image });
    else keep(image, version, { kind: 'count', name: `newest ${keepCount}` });
  }
  if (keepDays === 0) return;
  for (const { version, createdAt } of oldestFirst) {
    if (Date.parse(createdAt) > youngSince) {
      keep(image, version, { kind: 'age', name: `younger than ${keepDays} days` });
    }
  }
}

export interface RetentionTotals {
  readonly kept: number;
  readonly going: number;
  /** Of disks that only versions which go have: one that two versions share counts once, and only if both go. */
  readonly freedBytes: number;
}

/** Adds up plans that come in parts. */
export class RetentionTally {
  readonly #stays = new Set<string>();
  readonly #goes = new Map<string, number>();
  #kept = 0;
  #going = 0;

  add({ keepers, diskDigest, sizeBytes }: RetentionEntry): void {
    if (keepers.length === 0) {
      this.#going += 1;
      this.#goes.set(diskDigest, sizeBytes);
    } else {
      this.#kept += 1;
      this.#stays.add(diskDigest);
    }
  }

  totals(): RetentionTotals {
    let freedBytes = 0;
    for (const [digest, bytes] of this.#goes) if (!this.#stays.has(digest)) freedBytes += bytes;
    return { kept: this.#kept, going: this.#going, freedBytes };
  }
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
    matrix: `the recipe lists Kubernetes ${name}`,
    newest: 'the newest of its image',
    count: `one of the ${name}`,
    age: name,
  };
  return words[kind];
}
