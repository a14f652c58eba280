// What a gate of a policy is. Each gate is one value in a file of its own, and `policy-gates.ts` lists them.
import * as z from 'zod';
import type { GateResult } from '../channel/decision.ts';
import { parseDuration } from '../value/duration.ts';
import { parsed } from '../value/fields.ts';
import type { GateFacts } from './facts.ts';

/** The result without the name of the gate. */
export type Finding = Omit<GateResult, 'gate'>;

export interface Gate<Schema extends z.ZodType> {
  /** What a policy writes, described for its JSON Schema. */
  readonly settings: Schema;
  /** The same facts give the same finding: in a dry run, in the operation, and at the move. */
  readonly check: (settings: z.output<Schema>, facts: GateFacts) => Finding;
  /**
   * Returns for each field whether the gate can pass more after the change than before. Settings that cannot be compared,
   * such as another channel or another scanner, count as weaker, because a person must look at the change.
   */
  readonly weaker: (
    before: z.output<Schema>,
    after: z.output<Schema>,
    now: number,
  ) => Readonly<Record<string, boolean>>;
}

/** Infers the type of the settings. */
export function defineGate<Schema extends z.ZodType>(gate: Gate<Schema>): Gate<Schema> {
  return gate;
}

export const duration = z
  .string()
  .describe('For example `90s`, `12h`, or `7d`.')
  .transform(parsed(parseDuration));

/** A limit that is absent is infinite. */
export function exceeds(after = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY): boolean {
  return after > before;
}

export function includesAll(all: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return wanted.every((one) => all.includes(one));
}
