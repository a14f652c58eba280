// Follows the daemon's events, across cut connections and restarts of the daemon: goes on after the last event
// that was seen, so that nothing is lost and nothing comes twice.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { AnswerOf } from '../contract/types.ts';
import { createEventParser } from './event-stream.ts';
import { connectionLost } from './exchange.ts';

export type ApiEvent = AnswerOf<'watchEvents'>;

export interface WatchOptions {
  /** Only events of this subject, e.g. `operation/ID`. */
  readonly subject?: string;
  /** Begin after this event; 0 is the oldest that is kept. Without it, with what happens from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Told of every cut before the stream comes back. */
  readonly onCut?: (error: ImagoError) => void;
  /** How long to try to come back before giving up with the last error. Defaults to five minutes. */
  readonly giveUpAfterMs?: number;
}

/** Opens one stream, after the event of that id if there is one. */
export type OpenStream = (lastId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage>;

/** The server sends something at least every 15 seconds: longer silence means that the connection is dead. */
const SILENCE_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const GIVE_UP_MS = 300_000;

export async function* watchEvents(open: OpenStream, options: WatchOptions): AsyncGenerator<ApiEvent> {
  const signal = options.signal ?? new AbortController().signal;
  let lastId = options.after === undefined ? undefined : String(options.after);
  let stream = await open(lastId, signal);
  for (;;) {
    let pause = FIRST_PAUSE_MS;
    let cut: ImagoError;
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
      cut = connectionLost('The daemon ended the stream of events.');
    } catch (error) {
      cut = requirePassing(error, signal);
    } finally {
      stream.destroy();
    }
    options.onCut?.(cut);
    stream = await comeBack(() => open(lastId, signal), pause, options.giveUpAfterMs ?? GIVE_UP_MS, signal);
  }
}

async function* readChunks(stream: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  stream.setTimeout(SILENCE_MS, () => stream.destroy(connectionLost('The daemon fell silent.')));
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ImagoError ? error : connectionLost('The stream of events was cut.', error);
  }
  signal.throwIfAborted();
}

async function comeBack(
  open: () => Promise<IncomingMessage>,
  firstPauseMs: number,
  giveUpAfterMs: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const until = performance.now() + giveUpAfterMs;
  let pause = firstPauseMs;
  for (;;) {
    await pauseFor(pause, signal);
    try {
      return await open();
    } catch (error) {
      const passing = requirePassing(error, signal);
      if (performance.now() > until) throw passing;
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}

const passingCodes: ReadonlySet<string> = new Set([
  'daemon-not-running',
  'daemon-connection-lost',
  'daemon-not-answering',
  'daemon-standby',
  'api-rate-limited',
  'api-streams-limited',
]);

/** Returns what can pass by waiting; throws everything else. */
function requirePassing(error: unknown, signal: AbortSignal): ImagoError {
  signal.throwIfAborted();
  if (error instanceof ImagoError && (passingCodes.has(error.code) || error.httpStatus >= 500)) return error;
  throw error;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
