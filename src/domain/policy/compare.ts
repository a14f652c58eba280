// Compares a policy with the policy in effect, for the channels that exist: a misspelled channel name must not remove
// the gates of production without a word.
import type { ChannelRecord } from '../channel/channel.ts';
import { type ChannelGates, weakerFields } from '../gate/policy-gates.ts';
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { nearest } from '../value/suggest.ts';
import { someOf } from '../value/summarize-list.ts';
import { capturedGates, type Policy, policyFor } from './policy.ts';

type KnownChannel = Pick<ChannelRecord, 'image' | 'name' | 'forTesting' | 'managed'>;

export interface PolicyComparison {
  /** One line for each change and each name that no image has. */
  readonly lines: readonly string[];
  /** The lines to confirm: a channel that is not for testing loses or weakens gates, or a name looks misspelled. */
  readonly risks: readonly string[];
}

export function comparePolicies(
  before: Policy | undefined,
  after: Policy,
  channels: readonly KnownChannel[],
  now: number,
): PolicyComparison {
  const images = new Map<string, { loosens: boolean; names: string[] }>();
  for (const { image, name, forTesting, managed } of channels) {
    if (managed) continue;
    const changes = [
      ...gateChanges(gatesFor(before, image, name), gatesFor(after, image, name), now),
      ...capturedChanges(before, after, { image, name }, now),
    ];
    for (const { change, loosens } of changes) {
      const key = `Channel ${name} ${change}`;
      const known = images.get(key) ?? { loosens: false, names: [] };
      const isRisk = loosens && !forTesting;
      images.set(key, { loosens: known.loosens || isRisk, names: [...known.names, image] });
    }
  }
  const changes = [...images].map(([key, { loosens, names }]) => ({
    line: `${key}: ${someOf(names)}.`,
    risk: loosens,
  }));
  const unknown = unknownChannels(after, channels);
  const all = [...changes.filter(({ risk }) => risk), ...unknown, ...changes.filter(({ risk }) => !risk)];
  return {
    lines: all.map(({ line }) => line),
    risks: all.filter(({ risk }) => risk).map(({ line }) => line),
  };
}

interface GateChange {
  readonly change: string;
  readonly loosens: boolean;
}

function gatesFor(policy: Policy | undefined, image: string, channel: string): ChannelGates {
  const { captured: _captured, ...gates } = policyFor(policy, image, channel);
  return gates;
}

/** Only if one of the two has a section for captured versions: without one, the gates of the channel apply. */
function capturedChanges(
  before: Policy | undefined,
  after: Policy,
  { image, name }: Pick<KnownChannel, 'image' | 'name'>,
  now: number,
): readonly GateChange[] {
  const hasSection = [before, after].some((one) => policyFor(one, image, name).captured !== undefined);
  if (!hasSection) return [];
  const [old, planned] = [capturedGates(before, image, name), capturedGates(after, image, name)];
  return gateChanges(old, planned, now).map(({ change, loosens }) => ({
    ...{ change: `${change} for captured versions`, loosens },
  }));
}

function gateChanges(before: ChannelGates, after: ChannelGates, now: number): readonly GateChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof ChannelGates)[];
  const text = (gate: unknown) => canonicalJson((gate ?? null) as Json);
  return names.flatMap((name): readonly GateChange[] => {
    const [old, planned] = [before[name], after[name]];
    if (text(old) === text(planned)) return [];
    if (planned === undefined) return [{ change: `loses the gate ${name}`, loosens: true }];
    if (old === undefined) return [{ change: `gains the gate ${name}`, loosens: false }];
    const weaker = weakerFields(name, old, planned, now);
    if (weaker.length === 0) return [{ change: `changes the gate ${name}`, loosens: false }];
    return [{ change: `weakens the gate ${name} (${weaker.join(', ')})`, loosens: true }];
  });
}

/** Names that no image has. One that resembles an existing channel is probably a typo. */
function unknownChannels(policy: Policy, channels: readonly KnownChannel[]) {
  const found: { readonly line: string; readonly risk: boolean }[] = [];
  const check = (scope: string, names: Iterable<string>, known: ReadonlySet<string>) => {
    for (const name of names) {
      if (known.size === 0 || known.has(name)) continue;
      const [near] = nearest(name, known);
      const hint = near === undefined ? '' : ` Did you mean ${near}?`;
      found.push({ line: `${scope} no channel ${name}.${hint}`, risk: near !== undefined });
    }
  };
  check('The images have', Object.keys(policy.channels), new Set(channels.map(({ name }) => name)));
  for (const [image, { channels: own }] of Object.entries(policy.images ?? {})) {
    const mine = channels.filter((channel) => channel.image === image).map(({ name }) => name);
    check(`Image ${image} has`, Object.keys(own), new Set(mine));
  }
  return found;
}
