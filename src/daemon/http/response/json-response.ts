// JSON responses. A list that is too long for memory is streamed as it is read, followed by the other fields. An error
// before the first part is an ordinary response; a later one truncates the response, which the client detects.

const jsonHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export function jsonResponse(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: jsonHeaders });
}

export class StreamedJson<Item, Rest extends object> {
  readonly parts: AsyncGenerator<readonly Item[], Rest>;

  /** `parts` yields the items in order, and returns the other fields. */
  constructor(parts: AsyncGenerator<readonly Item[], Rest>) {
    this.parts = parts;
  }
}

/** The streamed response of an endpoint that has a list. */
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
