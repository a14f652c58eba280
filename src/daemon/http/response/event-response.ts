// Streams events. Each read of the connection queries the events after the last one that was sent, so that a slow client
// needs no memory and misses nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Events, ImagoEvent } from '../../../ports/database/events.ts';

export interface EventStreamOptions {
  readonly events: Events;
  readonly subject?: string;
  readonly after: number;
  /** Ends the stream, because the client disconnected or the daemon stops. */
  readonly signal: AbortSignal;
  readonly heartbeatMs: number;
  readonly reconnectMs: number;
  /** Called once, when the stream ends for any reason. */
  readonly onEnd: () => void;
}

const batchSize = 200;
/** Minimum time between two queries of a stream. */
const minPauseMs = 20;

export function eventResponse(options: EventStreamOptions): Response {
  return new Response(eventBytes(options), {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    },
  });
}

export function eventBytes(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { events, subject, signal, heartbeatMs } = options;
  const encoder = new TextEncoder();
  const bell = createBell();
  const stopListening = events.onAdded(bell.ring);
  let cursor = options.after;
  let begun = false;
  let nextBeat = performance.now() + heartbeatMs;

  const end = once(() => {
    stopListening();
    signal.removeEventListener('abort', onAbort);
    options.onEnd();
  });
  // A response that is never read is never cancelled either: only the signal reports its end.
  const onAbort = () => {
    bell.ring();
    end();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();

  async function next(): Promise<string | undefined> {
    if (!begun) {
      begun = true;
      return `retry: ${options.reconnectMs}\nid: ${cursor}\n\n`;
    }
    while (!signal.aborted) {
      const beat = performance.now() >= nextBeat;
      if (beat) nextBeat = performance.now() + heartbeatMs;
      bell.reset();
      const found = await events.list({
        after: cursor,
        limit: batchSize,
        ...(subject === undefined ? {} : { subject }),
      });
      if (signal.aborted) return undefined;
      const last = found.at(-1);
      if (last !== undefined) {
        cursor = last.id;
        return found.map(frame).join('');
      }
      if (beat) return ': still here\n\n';
      await sleep(minPauseMs);
      await bell.wait(Math.max(0, nextBeat - performance.now()));
    }
    return undefined;
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // If the database does not respond, the stream ends, and the client reconnects and resumes.
        const text = await next().catch(() => undefined);
        if (text !== undefined) return controller.enqueue(encoder.encode(text));
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Returns the event to start after: `Last-Event-ID`, else `after`, else the newest. */
export async function startOfStream(
  events: Events,
  asked: { readonly lastEventId?: string; readonly after?: string },
): Promise<number> {
  const newest = await events.last();
  const text = asked.lastEventId ?? asked.after;
  if (text === undefined) return newest;
  const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(id) || id > newest) {
    throw new ImagoError('api-event-id-invalid', `Event ${JSON.stringify(text.slice(0, 40))} not found.`, {
      details: { newest },
    });
  }
  const oldest = await events.oldest();
  if (id > 0 && id < oldest) {
    throw new ImagoError('api-event-id-invalid', `The events after event ${id} are no longer stored.`, {
      httpStatus: 410,
      hint: 'Start with `after=0`, the oldest stored event.',
      details: { oldest, newest },
    });
  }
  return id;
}

function frame(event: ImagoEvent): string {
  return `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
}

interface Bell {
  readonly ring: () => void;
  reset(): void;
  /** Resolves when it rang since the last reset, or after `ms`. */
  wait(ms: number): Promise<void>;
}

function createBell(): Bell {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    reset() {
      rung = false;
    },
    async wait(ms) {
      if (rung) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
      wake = undefined;
    },
  };
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
