// Processes that die and are started again, on the in-memory engine and journal with virtual time.

import type {
  OperationKind,
  OperationRecord,
  OperationRequest,
} from '../../../src/ports/workflow/operation.ts';
import type { OperationKinds } from '../../../src/workflow/interpreter/recorded-steps.ts';
import { createOperations, type Operations } from '../../../src/workflow/operations.ts';
import { createMemoryEngine } from '../../support/engine/memory-engine.ts';
import { createMemoryEngineState, type MemoryEngineState } from '../../support/engine/memory-engine-state.ts';
import {
  createMemoryJournal,
  createMemoryJournalState,
  loseUnsafeWrites,
  type MemoryJournalState,
} from '../../support/engine/memory-journal.ts';
import type { CrashPoint } from '../../support/engine/memory-run.ts';
import { createVirtualClock, type VirtualClock } from '../../support/engine/virtual-clock.ts';
import type { FaultyWorld } from './faulty-world.ts';

export interface LabOptions {
  readonly world: FaultyWorld;
  /** The kinds of operations that the next process knows. Called for every process. */
  readonly kinds: () => readonly OperationKind<unknown>[];
  /** Asked at every point of the engine's record: `true` kills the process there. */
  readonly crash?: (point: CrashPoint) => boolean;
  /** Whether the database dies together with the process. Asked at each death. */
  readonly losesWrites?: () => boolean;
}

export interface Lab {
  readonly clock: VirtualClock;
  readonly engineState: MemoryEngineState;
  readonly journalState: MemoryJournalState;
  /** How many processes died. */
  readonly deaths: () => number;
  /** Of the process that lives now. */
  operations(): Operations;
  /** The operation's record, as it is now. */
  record(id: string): OperationRecord;
  submit(request: Partial<OperationRequest> & { readonly id: string }): Promise<OperationRecord>;
  /** Waits for the operation's end, starting a new process for each one that dies. */
  ended(id: string): Promise<OperationRecord>;
  /** Stops the process that lives: time stands still when nobody waits for it. */
  close(): Promise<void>;
}

export function createLab(options: LabOptions): Lab {
  const clock = createVirtualClock({ auto: true });
  const engineState = createMemoryEngineState();
  const journalState = createMemoryJournalState();
  let deaths = 0;
  let ids = 0;
  let died: Promise<void>;
  let operations: Operations | undefined;

  async function startProcess(): Promise<Operations> {
    const engine = createMemoryEngine({
      ...{ state: engineState, clock },
      ...(options.crash === undefined ? {} : { crash: options.crash }),
    });
    let alive = true;
    died = engine.died.then(() => {
      alive = false;
    });
    options.world.process = {
      alive: () => alive,
      die: () => {
        alive = false;
        engine.kill();
      },
    };
    const kinds: OperationKinds = new Map(options.kinds().map((kind) => [kind.kind, kind]));
    const started = createOperations({
      ...{ engine, journal: createMemoryJournal(journalState), kinds, clock },
      newId: () => `op-${++ids}`,
      chance: () => 0.5,
    });
    operations = started;
    await Promise.race([started.start(), died]);
    return started;
  }

  async function living(): Promise<Operations> {
    return operations ?? startProcess();
  }

  async function mourn(): Promise<void> {
    deaths += 1;
    await operations?.stop();
    operations = undefined;
    if (options.losesWrites?.()) loseUnsafeWrites(journalState);
  }

  async function orDeath<T>(work: Promise<T>): Promise<{ readonly value: T } | 'died'> {
    const settled = work.then((value) => ({ value }));
    settled.catch(() => undefined);
    return Promise.race([settled, died.then(() => 'died' as const)]);
  }

  return {
    clock,
    engineState,
    journalState,
    deaths: () => deaths,
    operations() {
      if (operations === undefined) throw new Error('No process lives.');
      return operations;
    },
    record(id) {
      const record = journalState.records.get(id);
      if (record === undefined) throw new Error(`There is no operation ${id}.`);
      return record;
    },
    async submit(request) {
      for (;;) {
        const desk = await living();
        const kind = request.kind ?? 'make-things';
        const full = { ...{ kind, subject: 'world', by: 'test', input: [] }, ...request };
        const answer = await orDeath(desk.submit(full));
        if (answer !== 'died') return answer.value;
        await mourn();
      }
    },
    async ended(id) {
      for (;;) {
        const desk = await living();
        const watch = new AbortController();
        const answer = await orDeath(desk.ended(id, watch.signal));
        if (answer !== 'died') return answer.value;
        watch.abort();
        await mourn();
      }
    },
    async close() {
      await operations?.stop();
    },
  };
}
