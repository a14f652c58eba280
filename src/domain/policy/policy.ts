// What the policy requires of a channel, and keeps of an image.
import { channelLine } from '../channel/minor-channel.ts';
import type { ChannelGates } from '../gate/policy-gates.ts';
import type { RetentionPolicy } from '../retention/retention.ts';
import type { ChannelPolicy, Policy } from './schema.ts';

export type { ChannelPolicy, Policy } from './schema.ts';

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

/**
 * What the policy asks for before a prototype is used instead of the channel's version: its own section, or else the
 * gates of the channel without `age`, because a prototype is in no channel.
 */
export function capturedGates(policy: Policy | undefined, image: string, channel: string): ChannelGates {
  const { captured, age: _age, ...gates } = policyFor(policy, image, channel);
  return captured ?? gates;
}

/** What a prune of this image keeps beyond what is needed; of all images alike when none is named. */
export function retentionFor(policy: Policy | undefined, image: string | undefined): RetentionPolicy {
  const own = image === undefined ? undefined : ownEntry(policy?.images, image)?.retention;
  return own ?? policy?.retention ?? {};
}

/** Versions of the image that nodes pass through on their way to newer ones. */
export function floorsOf(policy: Policy | undefined, image: string): readonly string[] {
  return ownEntry(policy?.images, image)?.floors ?? [];
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
