// Reads the events of one watch connection: one JSON object per line.
import type { ImagoError } from '../../domain/error/imago-error.ts';
import type { Status } from '../../domain/kube/objects.ts';
import type { WatchEvent } from '../../ports/kube/api.ts';

type RawEvent<T> =
  | Exclude<WatchEvent<T>, { readonly type: 'EXPIRED' }>
  | { readonly type: 'ERROR'; readonly object: Status };

/** An incomplete last line is dropped: the watch resumes before it. */
export async function* readWatch<T>(
  status: number,
  body: AsyncIterable<Buffer>,
  toError: (status: Status) => ImagoError,
): AsyncGenerator<WatchEvent<T>> {
  if (status === 410) return yield { type: 'EXPIRED' };
  if (status !== 200) throw toError({ code: status, message: await firstText(body) });
  for await (const line of linesOf(body)) {
    const event = JSON.parse(line) as RawEvent<T>;
    if (event.type !== 'ERROR') yield event;
    else if (event.object.code === 410) return yield { type: 'EXPIRED' };
    else throw toError(event.object);
  }
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]).toString('utf8');
      if (line.trim() !== '') yield line;
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
}

async function firstText(body: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of body) {
    const text = chunk.toString('utf8');
    try {
      return (JSON.parse(text) as Status).message ?? '';
    } catch {
      return text.slice(0, 200);
    }
  }
  return '';
}
