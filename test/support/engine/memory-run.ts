// One run as the in-memory engine gives it to the interpreter: recorded calls are answered from the record,
// and the process can be made to die around every new one.
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { Json } from '../../../src/domain/value/json.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Run } from '../../../src/ports/workflow/engine.ts';
import { never, runBody, unlessStopped } from '../../../src/workflow/engine/run-body.ts';
import type { RecordedRun } from './memory-engine-state.ts';

/** Where in a recorded call the process may die. */
export interface CrashPoint {
  readonly run: string;
  readonly name: string;
  readonly moment: 'before-body' | 'after-body' | 'after-record';
}

export interface MemoryProcess {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether the process goes on after this point. One that lost its state to another does not. */
  survives(point: CrashPoint): boolean;
  /** Resolves when a message for the run arrives. */
  arrival(run: string): Promise<void>;
  onThrow(error: unknown): void;
}

export function createMemoryRun(recorded: RecordedRun, host: MemoryProcess): Run {
  const { clock, signal } = host;
  let place = 0;

  async function call(
    name: string,
    body: () => Promise<Json | undefined>,
    commit: () => void = () => undefined,
  ): Promise<Json | undefined> {
    const known = recorded.calls[place++];
    if (known !== undefined) return replay(recorded.id, known.name, name, known.value);
    if (!survives(name, 'before-body')) return never();
    const value = copy(await body());
    if (!survives(name, 'after-body')) return never();
    commit();
    recorded.calls.push({ name, value });
    if (!survives(name, 'after-record')) return never();
    return copy(value);
  }

  function survives(name: string, moment: CrashPoint['moment']): boolean {
    return host.survives({ run: recorded.id, name, moment });
  }

  async function waitForMessage(topic: string, timeoutMs: number): Promise<Json | undefined> {
    const timer = new AbortController();
    const timeout = clock.sleep(timeoutMs, timer.signal).then(() => true, never);
    let late = timeoutMs <= 0;
    while (!late && !recorded.messages.some((message) => message.topic === topic)) {
      const arrival = host.arrival(recorded.id).then(() => false);
      late = await unlessStopped(Promise.race([arrival, timeout]), signal);
    }
    timer.abort();
    return recorded.messages.find((message) => message.topic === topic)?.body;
  }

  return {
    id: recorded.id,
    signal,
    async step<T extends Json>(name: string, body: () => Promise<T>) {
      const retried = () => runBody(body, { clock, signal, onThrow: host.onThrow });
      return (await call(`step ${name}`, retried)) as T;
    },
    async sleep(name, ms) {
      const until = Number(await call(`sleep ${name}`, async () => clock.now() + ms));
      await clock.sleep(Math.min(ms, until - clock.now()), signal).catch(never);
    },
    async waitFor(topic, timeoutMs) {
      const until = Number(await call(`until ${topic}`, async () => clock.now() + timeoutMs));
      return call(
        `wait ${topic}`,
        () => waitForMessage(topic, Math.min(timeoutMs, until - clock.now())),
        () => takeMessage(recorded, topic),
      );
    },
  };
}

function replay(run: string, knownName: string, name: string, value: Json | undefined): Json | undefined {
  if (knownName === name) return copy(value);
  throw new ImagoError('internal', `Run ${run} called "${name}" where the record has "${knownName}".`);
}

function takeMessage(recorded: RecordedRun, topic: string): void {
  const place = recorded.messages.findIndex((message) => message.topic === topic);
  if (place !== -1) recorded.messages.splice(place, 1);
}

function copy(value: Json | undefined): Json | undefined {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as Json);
}
