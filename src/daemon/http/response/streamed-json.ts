// A JSON answer with a list too long to stand in memory: it is sent part by part as it is read, and the other fields
// follow the list. What fails before the first part is an ordinary error; what fails later cuts the answer short,
// which the client notices.
import { jsonHeaders } from './json-response.ts';

export class StreamedJson<Item, Rest extends object> {
  readonly parts: AsyncGenerator<readonly Item[], Rest>;

  /** `parts` are the items in order; what the generator returns are the fields beside them. */
  constructor(parts: AsyncGenerator<readonly Item[], Rest>) {
    this.parts = parts;
  }
}

/** As an endpoint's answer, where it has a list. */
export type StreamedJsonOf<Answer> = Answer extends { items: readonly (infer Item)[] }
  ? StreamedJson<Item, Omit<Answer, 'items'>>
  : never;

export async function streamedJsonResponse(
  status: number,
  { parts }: StreamedJson<unknown, object>,
): Promise<Response> {
  const first = await parts.next();
  return new Response(ReadableStream.from(jsonBytes(first, parts)), { status, headers: jsonHeaders });
}

async function* jsonBytes(
  first: IteratorResult<readonly unknown[], object>,
  parts: AsyncGenerator<readonly unknown[], object>,
): AsyncGenerator<Uint8Array> {
  try {
    let part = first;
    let before = '{"items":[';
    for (; part.done !== true; part = await parts.next()) {
      if (part.value.length === 0) continue;
      yield Buffer.from(before + part.value.map((item) => JSON.stringify(item)).join(','));
      before = ',';
    }
    const rest = JSON.stringify(part.value).slice(1);
    yield Buffer.from(`${before === ',' ? '' : before}]${rest === '}' ? '' : ','}${rest}`);
  } finally {
    await parts.return({});
  }
}
