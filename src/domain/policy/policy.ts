// The policy: which gates stand before which channel, and what a prune keeps. One document for all images, with exceptions by image;
// the gates that no policy can take away (tested on this digest, restricted never public) are not in it.

import type { Role } from '../access/roles.ts';
import { channelLine } from '../channel/minor-channel.ts';
import type { FindingLevel } from '../evidence/finding.ts';
import type { RetentionPolicy } from '../retention/retention.ts';
import type { FreezeWindow } from './freeze.ts';

export interface Policy {
  readonly version: 1;
  /** By channel, for every image. */
  readonly channels: Readonly<Record<string, ChannelPolicy>>;
  /** What a prune keeps that nobody asks otherwise of, beyond what is needed anyway. */
  readonly retention?: RetentionPolicy;
  /** By image: a channel, or the retention, that stands here too is taken from here, whole. */
  readonly images?: Readonly<Record<string, ImagePolicy>>;
}

export interface ImagePolicy {
  readonly channels: Readonly<Record<string, ChannelPolicy>>;
  readonly retention?: RetentionPolicy;
}

/** The gates before one channel. What is left out is not asked for. */
export interface ChannelPolicy {
  readonly signed?: SignedGate;
  readonly age?: AgeGate;
  readonly scan?: ScanGate;
  readonly budgets?: BudgetsGate;
  readonly size?: SizeGate;
  readonly approvals?: ApprovalsGate;
  readonly freeze?: readonly FreezeWindow[];
  /** The node configs of pools that follow the channel must be accepted by the version. */
  readonly nodeConfig?: true;
}

export interface SignedGate {
  /** Key ids, or owners of trusted keys, that must all have signed. Any trusted key if absent. */
  readonly by?: readonly string[];
}

export interface AgeGate {
  /** The earlier channel; the one before in the image's order when absent. */
  readonly in?: string;
  readonly atLeastMs: number;
}

export interface ScanGate {
  /** The highest level that a finding may have; `none` allows no finding at all. */
  readonly noneAbove: FindingLevel | 'none';
  /** How old the report may be. */
  readonly maxAgeMs?: number;
  /** Only reports of this tool count. */
  readonly tool?: string;
  /** What a finding without a level counts as. `high` when absent. */
  readonly unknownAs?: FindingLevel;
}

export interface BudgetsGate {
  /** How much a measure may grow against the version before, as a part of one: 0.1 is 10 %. */
  readonly growth: number;
  /** The measures that must be there. All that both versions have when absent. */
  readonly measures?: readonly string[];
}

export interface SizeGate {
  readonly atMostBytes?: number;
  /** Against the version before, as a part of one. */
  readonly growth?: number;
}

export interface ApprovalsGate {
  readonly count: number;
  /** The least role whose word counts. */
  readonly role: Role;
  /** Whether the one who asks for the promotion may be among them. */
  readonly requester?: boolean;
}

/** As it was put in force. */
export interface PolicyRecord {
  readonly id: number;
  readonly policy: Policy;
  readonly text: string;
  readonly digest: string;
  readonly by: string;
  readonly why: string;
  readonly at: string;
}

/**
 * What the policy asks for before this channel of this image; no gates when it says nothing. A channel of one
 * Kubernetes version has the gates of the one whose place it takes, unless it has its own.
 */
export function policyFor(policy: Policy | undefined, image: string, channel: string): ChannelPolicy {
  const own = named(policy, image, channel);
  const place = channelLine(channel);
  if (own !== undefined || place === undefined) return own ?? {};
  const base = named(policy, image, place.base) ?? {};
  const earlier = base.age?.in;
  if (base.age === undefined || earlier === undefined) return base;
  return { ...base, age: { ...base.age, in: `${earlier}-${place.line}` } };
}

/** What a prune of this image keeps beyond what is needed; of all images alike when none is named. */
export function retentionFor(policy: Policy | undefined, image: string | undefined): RetentionPolicy {
  const own = image === undefined ? undefined : ownEntry(policy?.images, image)?.retention;
  return own ?? policy?.retention ?? {};
}

/** Whether images differ in what is kept of them. */
export function retentionDiffers(policy: Policy | undefined): boolean {
  return Object.values(policy?.images ?? {}).some(({ retention }) => retention !== undefined);
}

function named(policy: Policy | undefined, image: string, channel: string): ChannelPolicy | undefined {
  return ownEntry(ownEntry(policy?.images, image)?.channels, channel) ?? ownEntry(policy?.channels, channel);
}

function ownEntry<T>(entries: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined;
}
