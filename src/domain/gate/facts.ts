// The facts that gates decide on.
import type { Requester } from '../access/roles.ts';
import type { ChannelRecord } from '../channel/channel.ts';
import type { Stay } from '../channel/log.ts';
import type { Evidence } from '../evidence/evidence.ts';
import type { ComposedVersion } from '../evidence/tested-combination.ts';
import type { VersionRecord } from '../image/version.ts';

type GatedVersion = Pick<
  VersionRecord,
  'image' | 'version' | 'digest' | 'state' | 'sizeBytes' | 'restricted' | 'simulated' | 'createdAt'
>;

/** A signature as the store found it. */
export interface GatedSignature {
  /** Absent if no key that is known here made it. */
  readonly key?: string;
  /** The owner of the key, if it is not this installation's. */
  readonly owner?: string;
  /** The name that it was signed under: the image, or the repository that it was published to. */
  readonly identity: string;
  readonly counts: boolean;
  readonly expired?: true;
  readonly problem?: string;
}

export interface GateFacts {
  readonly version: GatedVersion;
  readonly channel: Pick<ChannelRecord, 'name' | 'forTesting' | 'public' | 'simulated'>;
  /** All that is stored for the version's digest. */
  readonly evidence: readonly Evidence[];
  /** The channel that age is counted in, and the version's stays there; absent when there is no such channel. */
  readonly earlier?: { readonly name: string; readonly stays: readonly Stay[] };
  /** What the channel points at now, with its evidence; absent when it points at nothing or at the version itself. */
  readonly before?: { readonly version: GatedVersion; readonly evidence: readonly Evidence[] };
  /** The newest composed version of the digest that passed. */
  readonly composed?: ComposedVersion & { readonly id: string };
  /** What the agent on the disk can do, as the newest test found it; absent when nobody could look. */
  readonly offers?: AgentOffers;
  readonly followers: readonly Follower[];
  /** The newest move in which the version passed the channel's gates, without an override; absent if it never did. */
  readonly earlierMove?: number;
  /** All that the version bears, where the policy asks for signatures. */
  readonly signatures?: readonly GatedSignature[];
  /** Who requests the promotion. */
  readonly requester: Requester;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What the agent of an image can do with a node config, and the versions of components that it can choose from. */
export interface AgentOffers {
  readonly abilities: readonly string[];
  readonly components: Readonly<Record<string, readonly string[]>>;
  /** There are others, which are private. */
  readonly hidesComponents?: true;
}

/** A pool that follows the channel, by its node config. */
export interface Follower {
  readonly name: string;
  /** That it is written in; absent when there is no config. */
  readonly schemaVersion?: number;
  /** What the config asks of the agent, said or by its fields. */
  readonly requires: readonly string[];
}
