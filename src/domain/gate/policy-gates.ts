// The gates that a policy can contain, by their name in it, in the order in which they are shown.
import type * as z from 'zod';
import { ageGate } from './age.ts';
import { approvalsGate } from './approvals.ts';
import { budgetsGate } from './budgets.ts';
import { freezeGate } from './freeze.ts';
import { freshGate } from './fresh.ts';
import { nodeConfigGate } from './node-config.ts';
import { scanGate } from './scan.ts';
import { signedGate } from './signed.ts';
import { sizeGate } from './size.ts';

export const policyGates = {
  signed: signedGate,
  age: ageGate,
  scan: scanGate,
  fresh: freshGate,
  budgets: budgetsGate,
  size: sizeGate,
  approvals: approvalsGate,
  freeze: freezeGate,
  nodeConfig: nodeConfigGate,
};

export type PolicyGates = typeof policyGates;
export type PolicyGateName = keyof PolicyGates;
export const policyGateNames = Object.keys(policyGates) as readonly PolicyGateName[];

/** The settings of one gate. */
export type GateSettings<Name extends PolicyGateName> = z.output<PolicyGates[Name]['settings']>;
/** The gates of a channel. */
export type ChannelGates = { -readonly [Name in PolicyGateName]?: GateSettings<Name> | undefined };

/** The name in records, overrides, and output: `node-config` for `nodeConfig`. */
export function shownName(name: PolicyGateName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the fields by which the gate is weaker; empty if it is at least as strict as before. */
export function weakerFields<Name extends PolicyGateName>(
  name: Name,
  before: GateSettings<Name>,
  after: GateSettings<Name>,
  now: number,
): readonly string[] {
  const fields = policyGates[name].weaker(before as never, after as never, now);
  return Object.keys(fields).filter((field) => fields[field as never]);
}
