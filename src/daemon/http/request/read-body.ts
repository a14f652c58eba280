// Reads the body of a request, with limits on its size and time.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Limits } from '../guard/limits.ts';

/** Returns the body as text. Refuses bytes that are not UTF-8 instead of replacing them. */
export async function readBodyText(request: Request, limits: Limits): Promise<string> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > limits.bodyBytes) throw tooBig(limits.bodyBytes);
  if (request.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  const deadline = AbortSignal.timeout(limits.bodyMs);
  for await (const chunk of readChunks(request.body, () => deadline)) {
    size += chunk.byteLength;
    if (size > limits.bodyBytes) throw tooBig(limits.bodyBytes);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new ImagoError('api-body-malformed', 'The body is not UTF-8 text.', { cause: error });
  }
}

export function parseJsonBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const where = error instanceof Error ? /at position \d+.*$/.exec(error.message)?.[0] : undefined;
    throw new ImagoError('api-body-malformed', `The body is not valid JSON${where ? ` ${where}` : ''}.`, {
      cause: error,
    });
  }
}

/** Yields the chunks of an upload. Throws after a pause that is too long. */
export function readUpload(request: Request, limits: Limits): AsyncGenerator<Uint8Array> {
  return readChunks(bodyOf(request), () => AbortSignal.timeout(limits.bodyMs));
}

/** Yields typed input, which can pause for hours. */
export function readOpenEnded(request: Request): AsyncGenerator<Uint8Array> {
  return readChunks(bodyOf(request), () => noDeadline);
}

export function requireMediaType(request: Request, needed: string): void {
  const given = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (given === needed) return;
  throw new ImagoError(
    'api-body-media-type',
    given === '' ? 'The body has no media type.' : `The body has the media type ${given}.`,
    { httpStatus: 415, hint: `Send it with \`Content-Type: ${needed}\`.` },
  );
}

function bodyOf(request: Request): ReadableStream<Uint8Array> {
  return request.body ?? new ReadableStream({ start: (controller) => controller.close() });
}

const noDeadline = new AbortController().signal;

async function* readChunks(
  body: ReadableStream<Uint8Array>,
  deadline: () => AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await orDeadline(reader.read(), deadline());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function orDeadline<T>(read: Promise<T>, deadline: AbortSignal): Promise<T> {
  const late = Promise.withResolvers<never>();
  const onLate = () =>
    late.reject(
      new ImagoError('api-body-slow', 'The request body did not arrive in time.', { httpStatus: 408 }),
    );
  if (deadline.aborted) onLate();
  deadline.addEventListener('abort', onLate, { once: true });
  try {
    return await Promise.race([read, late.promise]);
  } finally {
    deadline.removeEventListener('abort', onLate);
  }
}

function tooBig(limit: number): ImagoError {
  return new ImagoError('api-body-too-big', `The body is larger than ${limit} bytes.`, {
    httpStatus: 413,
    details: { limit },
  });
}
