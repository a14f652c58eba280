// What the in-memory engine would have on disk: it outlives a simulated crash, and the next engine on it goes
// on where the last one was cut off.
import type { Json } from '../../../src/domain/value/json.ts';

export interface RecordedCall {
  readonly name: string;
  /** `undefined` stands for a wait that timed out. */
  readonly value: Json | undefined;
}

export interface RecordedRun {
  readonly id: string;
  readonly key: string;
  readonly calls: RecordedCall[];
  readonly messages: { readonly topic: string; readonly body: Json }[];
  ended: boolean;
}

export interface MemoryEngineState {
  /** In the order in which they were enqueued. */
  readonly runs: Map<string, RecordedRun>;
  /** `NAME@TIME` of every schedule's time whose `fire` has returned. */
  readonly fired: Set<string>;
  /** Grows with every engine that starts: an older one records nothing more. */
  owner: number;
}

export function createMemoryEngineState(): MemoryEngineState {
  return { runs: new Map(), fired: new Set(), owner: 0 };
}
