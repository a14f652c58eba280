// The journal of the tests. Like PostgreSQL it can lose what was not written durably when it dies, and it
// refuses the writes of a process that is no longer the active one.
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type {
  Journal,
  JournalWrite,
  OperationRecord,
  StepRecord,
} from '../../../src/ports/workflow/operation.ts';

export interface MemoryJournalState {
  /** What readers see. */
  records: Map<string, OperationRecord>;
  /** What would be left if the database died now. */
  safe: Map<string, OperationRecord>;
  /** What was written since the last durable write. */
  readonly unsafe: Set<string>;
  readonly logs: Map<string, { readonly at: number; readonly line: string }[]>;
  /** Ids of the records that have not ended. */
  live: Set<string>;
  /** Grows with every process that becomes the active one. */
  epoch: number;
}

const endedStates = new Set(['succeeded', 'failed', 'cancelled']);

export function createMemoryJournalState(): MemoryJournalState {
  return {
    records: new Map(),
    safe: new Map(),
    unsafe: new Set(),
    logs: new Map(),
    live: new Set(),
    epoch: 0,
  };
}

/** The database dies and comes back: writes that were not durable, and came after the last that was, are gone. */
export function loseUnsafeWrites(state: MemoryJournalState): void {
  state.records = structuredClone(state.safe);
  state.unsafe.clear();
  state.live = new Set([...state.records.values()].filter(isLive).map(({ id }) => id));
}

function isLive({ state }: OperationRecord): boolean {
  return !endedStates.has(state);
}

/** A journal for one process; opening another makes this one's writes stale. */
export function createMemoryJournal(state: MemoryJournalState): Journal {
  state.epoch += 1;
  const { epoch } = state;

  function find(id: string): OperationRecord {
    const record = state.records.get(id);
    if (record === undefined) throw new ImagoError('operation-not-found', `There is no operation ${id}.`);
    return record;
  }

  /** Records are never changed: each write has a new one, that shares what it did not change with the one before. */
  function write(record: OperationRecord, options: JournalWrite = {}): void {
    if (epoch !== state.epoch) throw new ImagoError('owner-stale', 'Another process is the active one.');
    state.records.set(record.id, record);
    if (isLive(record)) state.live.add(record.id);
    else state.live.delete(record.id);
    state.unsafe.add(record.id);
    if (!(options.durable ?? true)) return;
    for (const id of state.unsafe) state.safe.set(id, state.records.get(id) ?? record);
    state.unsafe.clear();
  }

  function live(): OperationRecord[] {
    return [...state.live].map(find);
  }

  function requireFree(key: string): void {
    const holder = live().find((record) => record.key === key);
    if (holder !== undefined) throw new ImagoError('operation-busy', `Operation ${holder.id} holds ${key}.`);
  }

  return {
    async create(request, at) {
      const known = state.records.get(request.id);
      if (known !== undefined) return structuredClone(known);
      const key = request.key ?? request.subject;
      if (request.whenBusy === 'refuse') requireFree(key);
      const { id, kind, subject, by, input, parent, retryOf } = request;
      const steps: StepRecord[] = request.steps.map((name) => ({ name, state: 'pending', attempts: 0 }));
      const record: OperationRecord = {
        ...{ id, kind, subject, by, key, state: 'queued', steps, exceptions: [] },
        input: structuredClone(input),
        ...(parent === undefined ? {} : { parent }),
        ...(retryOf === undefined ? {} : { retryOf }),
        createdAt: new Date(at).toISOString(),
      };
      write(record);
      return structuredClone(record);
    },
    async get(id) {
      return structuredClone(state.records.get(id));
    },
    async childStates(parent) {
      return [...state.records.values()].filter((record) => record.parent === parent);
    },
    async update(id, given, options) {
      const { steps: changes = {}, ...change } = structuredClone(given);
      const record = find(id);
      const unknown = Object.keys(changes).find((name) => record.steps.every((step) => step.name !== name));
      if (unknown !== undefined) {
        throw new ImagoError('internal', `Operation ${id} has no step ${unknown}.`);
      }
      const steps = record.steps.map((step) => merge(step, changes[step.name] ?? {}));
      write({ ...merge(record, change), steps }, options);
    },
    async log(id, at, lines) {
      const known = state.logs.get(id) ?? [];
      state.logs.set(id, [...known, ...lines.map((line) => ({ at, line }))]);
    },
    async live() {
      return structuredClone(live());
    },
    async requireFree(key) {
      requireFree(key);
    },
    async isAwaitedUnder(key, id) {
      const waiting = new Set([id]);
      for (const one of waiting) {
        const record = live().find((other) => other.id === one);
        if (record === undefined) continue;
        if (record.key === key) return true;
        const queued = live().filter((other) => other.state === 'queued' && other.key === record.key);
        for (const other of [...queued.map((found) => found.id), record.parent]) {
          if (other !== undefined) waiting.add(other);
        }
      }
      return false;
    },
    async isHeldBy(key, id) {
      for (let one = state.records.get(id); one !== undefined; one = state.records.get(one.parent ?? '')) {
        if (one.key === key) return true;
      }
      return false;
    },
    async requestCancel(id, by) {
      const record = find(id);
      write({ ...record, cancelRequestedBy: record.cancelRequestedBy ?? by });
    },
  };
}

function merge<T extends object>(record: T, change: object): T {
  const merged = { ...record, ...change };
  const kept = Object.entries(merged).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as T;
}
