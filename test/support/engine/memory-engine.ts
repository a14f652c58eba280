// The engine of the tests: virtual time, and a process that can be made to die at any point. What it recorded
// is in a state object of its own, on which the next engine goes on.

import { createKeyGate } from '../../../src/async/key-queue.ts';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Engine, Interpreter } from '../../../src/ports/workflow/engine.ts';
import { never, runBody, unlessStopped } from '../../../src/workflow/engine/run-body.ts';
import { parseCron, tick } from '../../../src/workflow/engine/ticker.ts';
import type { MemoryEngineState, RecordedRun } from './memory-engine-state.ts';
import { type CrashPoint, createMemoryRun } from './memory-run.ts';

export interface MemoryEngineOptions {
  readonly state: MemoryEngineState;
  readonly clock: Clock;
  /** Asked at every point: `true` kills the process there. */
  readonly crash?: (point: CrashPoint) => boolean;
  /** Told about bodies and interpreters that threw. */
  readonly onError?: (error: unknown) => void;
  /** Aborted when the lease is lost. */
  readonly signal?: AbortSignal;
}

export interface MemoryEngine extends Engine {
  /** Dies at once: nothing that was under way goes on, and nothing more is recorded. */
  kill(): void;
  /** Resolves when the process has died. */
  readonly died: Promise<void>;
}

export function createMemoryEngine(options: MemoryEngineOptions): MemoryEngine {
  const { state, clock } = options;
  const gate = createKeyGate();
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal;
  const arrivals = new Map<string, () => void>();
  const schedules = new Map<string, AbortController>();
  const death = Promise.withResolvers<void>();
  let interpreter: Interpreter | undefined;
  let owner: number | undefined;

  function alive(): boolean {
    return owner === state.owner;
  }

  function end(reason: string): void {
    owner = undefined;
    stop.abort(new Error(reason));
  }

  function kill(): void {
    end('The process died.');
    death.resolve();
  }

  function survives(point: CrashPoint): boolean {
    if (!alive()) return false;
    if (options.crash?.(point) !== true) return true;
    kill();
    return false;
  }

  function arrival(run: string): Promise<void> {
    return new Promise((resolve) => arrivals.set(run, resolve));
  }

  function onThrow(error: unknown): void {
    options.onError?.(error);
  }

  async function execute(interpret: Interpreter, recorded: RecordedRun): Promise<void> {
    await unlessStopped(gate.enter(recorded.key, recorded.id), signal);
    try {
      await interpret(createMemoryRun(recorded, { clock, signal, survives, arrival, onThrow }));
    } catch (error) {
      if (!signal.aborted) onThrow(error);
    }
    if (signal.aborted || !alive()) return;
    recorded.ended = true;
    gate.leave(recorded.key, recorded.id);
  }

  return {
    kill,
    died: death.promise,
    async start(given) {
      if (interpreter !== undefined) throw new ImagoError('internal', 'The engine has been started already.');
      interpreter = given;
      state.owner += 1;
      owner = state.owner;
      const unfinished = [...state.runs.values()].filter((run) => !run.ended);
      for (const run of unfinished) gate.reserve(run.key, run.id);
      for (const run of unfinished) void execute(given, run);
    },
    async enqueue(id, { key }) {
      if (interpreter === undefined) throw new ImagoError('internal', 'The engine has not been started.');
      if (!alive()) return never();
      if (state.runs.has(id)) return;
      const recorded: RecordedRun = { id, key, calls: [], messages: [], ended: false };
      state.runs.set(id, recorded);
      void execute(interpreter, recorded);
    },
    async letPass(id) {
      gate.letPass(id);
    },
    async send(id, topic, body) {
      if (!alive()) return never();
      const recorded = state.runs.get(id);
      if (recorded === undefined) throw new ImagoError('operation-not-found', `There is no run ${id}.`);
      recorded.messages.push({ topic, body });
      arrivals.get(id)?.();
    },
    async schedule(spec, fire) {
      const cron = parseCron(spec);
      schedules.get(spec.name)?.abort();
      const ending = new AbortController();
      schedules.set(spec.name, ending);
      void tick(cron, clock, AbortSignal.any([signal, ending.signal]), async (at) => {
        const time = `${spec.name}@${at.toISOString()}`;
        if (state.fired.has(time)) return;
        await runBody(() => fire(at), { clock, signal, onThrow });
        if (alive()) state.fired.add(time);
      });
    },
    async unschedule(name) {
      schedules.get(name)?.abort();
      schedules.delete(name);
    },
    async stop() {
      end('The engine was stopped.');
    },
  };
}
