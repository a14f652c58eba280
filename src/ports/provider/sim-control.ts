// How people and tests steer the simulated provider: faults at chosen calls, and how fast its time runs.
// Faults outlive the daemon, like the simulated world.
import type { FaultKind } from '../../domain/sim/fault-kind.ts';

export { type FaultKind, faultKinds } from '../../domain/sim/fault-kind.ts';

export interface FaultSpec {
  readonly kind: FaultKind;
  /** Role and method, e.g. `pools.setModel`; `*` matches any text. */
  readonly call: string;
  /** What the call is about, e.g. `web` or `web/web-000001`; `*` matches any text. Absent: anything. */
  readonly name?: string;
  /** The gallery that the call goes to. Defaults to any. */
  readonly gallery?: string;
  /** How many matching calls pass unharmed first. Defaults to none. */
  readonly after?: number;
  /** How many calls it strikes. Absent: one. */
  readonly count?: number | 'always';
  readonly ms?: number;
  readonly factor?: number;
  readonly region?: string;
  /** The error's text. */
  readonly message?: string;
}

export interface Fault extends FaultSpec {
  readonly id: number;
  /** Matching calls since it was ordered, and how many of them it struck. */
  readonly seen: number;
  readonly hits: number;
  /** It strikes no more. */
  readonly spent: boolean;
}

export interface SimTime {
  /** The time in the simulated world. */
  readonly now: string;
  /** How many of its seconds pass in one of ours. */
  readonly scale: number;
}

export interface SimControl {
  /** In the order in which they were added. */
  listFaults(): Promise<readonly Fault[]>;
  /** Two of the same spec are two faults. `input-invalid` when the spec makes no sense. */
  addFault(spec: FaultSpec): Promise<Fault>;
  /** `false` when there is none of that id. */
  removeFault(id: number): Promise<boolean>;
  time(): Promise<SimTime>;
  /** Changes how fast time runs from now on, moves it forward, or both. Time never runs backwards. */
  setTime(change: { readonly scale?: number; readonly advanceMs?: number }): Promise<SimTime>;
}
