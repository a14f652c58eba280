// How people and tests steer the simulated provider: faults at chosen calls, and how fast its time runs.
import type { Page, PageQuery } from './page.ts';

export type FaultMode =
  | 'fail'
  | 'fail-but-done'
  | 'succeed-but-not-done'
  | 'reply-lost'
  | 'hang'
  | 'throttle'
  | 'slow'
  | 'die-before'
  | 'die-after';

export interface FaultOrder {
  /** `ROLE.METHOD`, e.g. `pools.createPool`; `*` stands for any role or method. */
  readonly call: string;
  readonly mode: FaultMode;
  /** Only calls about the thing of this name. */
  readonly name?: string;
  /** How many fitting calls go well first. */
  readonly skip: number;
  /** How many fitting calls it strikes; then it is over. */
  readonly times: number;
  /** How long `hang`, `slow` and `throttle` last, in the simulation's time. */
  readonly durationMs?: number;
}

export interface FaultRecord extends FaultOrder {
  readonly id: string;
  readonly struck: number;
}

export interface SimTime {
  /** The time in the simulated world. */
  readonly now: string;
  /** How many of its seconds pass in one of ours. */
  readonly scale: number;
}

/** Faults outlive the daemon, like the simulated world. */
export interface SimControl {
  listFaults(query: PageQuery): Promise<Page<FaultRecord>>;
  addFault(fault: FaultOrder): Promise<FaultRecord>;
  /** `false` when there is none of that id. */
  removeFault(id: string): Promise<boolean>;
  time(): Promise<SimTime>;
  /** Changes how fast time runs from now on, moves it forward, or both. Time never runs backwards. */
  setTime(change: { readonly scale?: number; readonly advanceMs?: number }): Promise<SimTime>;
}
