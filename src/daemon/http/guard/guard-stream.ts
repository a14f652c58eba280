// Ends a stream when its caller loses the right to it: a revoked or expired token must not keep a shell, a console,
// or a stream of events open.
import type { ImagoError } from '../../../domain/error/imago-error.ts';

export interface StreamGuard {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Returns the reason to end the stream; `undefined` to continue. */
  readonly check: () => Promise<ImagoError | undefined>;
  readonly everyMs: number;
}

/**
 * Opens a stream with a signal that also aborts when the caller's rights end. The response then fails, even if its source
 * ignores the signal, so that the client does not mistake it for a regular end. A check that throws is ignored.
 */
export async function openGuarded(
  guard: StreamGuard,
  open: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const ended = new AbortController();
  let checking = false;
  const timer = setInterval(async () => {
    if (checking) return;
    checking = true;
    const reason = await guard.check().catch(() => undefined);
    checking = false;
    if (reason !== undefined) ended.abort(reason);
  }, guard.everyMs);
  const stop = () => clearInterval(timer);
  ended.signal.addEventListener('abort', stop);
  guard.signal.addEventListener('abort', stop);
  try {
    const response = await open(AbortSignal.any([guard.signal, ended.signal]));
    if (response.body === null) stop();
    return response.body === null
      ? response
      : new Response(breakable(response.body, ended.signal, stop), response);
  } catch (error) {
    stop();
    throw error;
  }
}

function breakable(
  body: ReadableStream<Uint8Array>,
  broken: AbortSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        broken.addEventListener('abort', () => {
          controller.error(broken.reason);
          reader.cancel(broken.reason).catch(() => undefined);
        });
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (broken.aborted) return;
        if (!done) return controller.enqueue(value);
        onEnd();
        controller.close();
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
