// The stream of events. Nothing is kept for a client: each read of the client's connection asks the store for
// what comes after the last event that was sent, so a slow client costs no memory and loses nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Events, ImagoEvent } from '../../../ports/database/events.ts';

export interface EventStreamOptions {
  readonly events: Events;
  readonly subject?: string;
  readonly after: number;
  /** Ends the stream: the client is gone, or the daemon stops. */
  readonly signal: AbortSignal;
  readonly heartbeatMs: number;
  readonly reconnectMs: number;
  /** Called once, however the stream ends. */
  readonly onEnd: () => void;
}

const BATCH = 200;
/** A stream asks the store at most this often, however many events of others wake it. */
const PACE_MS = 20;

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
  // A response that is never read is never cancelled either: the signal is the only word that it is over.
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
        limit: BATCH,
        ...(subject === undefined ? {} : { subject }),
      });
      if (signal.aborted) return undefined;
      const last = found.at(-1);
      if (last !== undefined) {
        cursor = last.id;
        return found.map(frame).join('');
      }
      if (beat) return ': still here\n\n';
      await sleep(PACE_MS);
      await bell.heard(Math.max(0, nextBeat - performance.now()));
    }
    return undefined;
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A store that does not answer ends the stream: the client comes back and goes on where it was.
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

/** Which event to begin after: `Last-Event-ID`, else `after`, else the newest. */
export async function startOfStream(
  events: Events,
  asked: { readonly lastEventId?: string; readonly after?: string },
): Promise<number> {
  const newest = await events.last();
  const text = asked.lastEventId ?? asked.after;
  if (text === undefined) return newest;
  const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(id) || id > newest) {
    throw new ImagoError('api-event-id-invalid', `There is no event ${JSON.stringify(text.slice(0, 40))}.`, {
      details: { newest },
    });
  }
  const oldest = await events.oldest();
  if (id > 0 && id < oldest) {
    throw new ImagoError('api-event-id-invalid', `What came after event ${id} is not kept any more.`, {
      httpStatus: 410,
      hint: 'Begin with `after=0`, which is the oldest event that is kept.',
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
  /** Resolves when it rang since the last reset, or the time is over. */
  heard(ms: number): Promise<void>;
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
    async heard(ms) {
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
