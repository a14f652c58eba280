// Follows the daemon's events across lost connections and restarts of the daemon. Resumes after the last received
// event, so that each event is delivered exactly once.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ResponseOf } from '../contract/types.ts';
import { createEventParser } from './event-stream.ts';
import { connectionLost } from './exchange.ts';

export type ApiEvent = ResponseOf<'watchEvents'>;

export interface WatchOptions {
  /** Yields only events of this subject, for example `operation/ID`. */
  readonly subject?: string;
  /** Starts after this event; 0 starts with the oldest one. Defaults to new events. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Called for every lost connection and every failed try to reconnect. With it, a first try that fails is repeated too. */
  readonly onDisconnect?: (error: ImagoError) => void;
  /** The time to try to reconnect before the last error is thrown. Defaults to five minutes. */
  readonly giveUpAfterMs?: number;
}

/** Opens one stream, after the event with that id if there is one. */
export type OpenStream = (lastId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage>;

/** The server sends data at least every 15 seconds; otherwise, the connection is lost. */
const silenceMs = 60_000;
const firstPauseMs = 250;
const maxPauseMs = 5_000;
const defaultGiveUpMs = 300_000;

export async function* watchEvents(open: OpenStream, options: WatchOptions): AsyncGenerator<ApiEvent> {
  const signal = options.signal ?? new AbortController().signal;
  let lastId = options.after === undefined ? undefined : String(options.after);
  const openAgain = (pauseMs: number) => reconnect(() => open(lastId, signal), pauseMs, options, signal);
  let stream = await open(lastId, signal).catch((error: unknown) => {
    if (options.onDisconnect === undefined) throw error;
    options.onDisconnect(requireTransient(error, signal));
    return openAgain(firstPauseMs);
  });
  for (;;) {
    let pause = firstPauseMs;
    let lost: ImagoError;
    try {
      const parse = createEventParser();
      for await (const chunk of readChunks(stream, signal)) {
        const { events, retryMs } = parse(chunk);
        pause = retryMs ?? pause;
        for (const { id, data } of events) {
          if (id !== undefined) lastId = id;
          if (data !== '') yield JSON.parse(data) as ApiEvent;
        }
      }
      lost = connectionLost('The daemon closed the event stream.');
    } catch (error) {
      lost = requireTransient(error, signal);
    } finally {
      stream.destroy();
    }
    options.onDisconnect?.(lost);
    stream = await openAgain(pause);
  }
}

async function* readChunks(stream: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  stream.setTimeout(silenceMs, () => stream.destroy(connectionLost('The daemon stopped sending data.')));
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ImagoError ? error : connectionLost('The event stream was interrupted.', error);
  }
  signal.throwIfAborted();
}

async function reconnect(
  open: () => Promise<IncomingMessage>,
  pauseMs: number,
  { giveUpAfterMs = defaultGiveUpMs, onDisconnect }: WatchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const until = performance.now() + giveUpAfterMs;
  let pause = pauseMs;
  for (;;) {
    await pauseFor(pause, signal);
    try {
      return await open();
    } catch (error) {
      const transient = requireTransient(error, signal);
      if (performance.now() > until) throw transient;
      onDisconnect?.(transient);
      pause = Math.min(pause * 2, maxPauseMs);
    }
  }
}

const transientCodes: ReadonlySet<string> = new Set([
  'daemon-not-running',
  'daemon-connection-lost',
  'daemon-not-answering',
  'daemon-standby',
  'api-rate-limited',
  'api-streams-limited',
]);

/** Returns transient errors; throws all others. */
function requireTransient(error: unknown, signal: AbortSignal): ImagoError {
  signal.throwIfAborted();
  if (error instanceof ImagoError && (transientCodes.has(error.code) || error.httpStatus >= 500))
    return error;
  throw error;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
