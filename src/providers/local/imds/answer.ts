// An HTTP answer as a value, so that the rules of both services can be tested without a server.

export interface MetadataRequest {
  readonly method: string;
  /** Path and query, as they came. */
  readonly url: string;
  /** Names in lower case; several of one name joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

export function textAnswer(body: string): Answer {
  return { status: 200, type: 'text/plain; charset=utf-8', body };
}

export function xmlAnswer(status: number, body: string): Answer {
  const declared = body === '' ? '' : `<?xml version="1.0" encoding="utf-8"?>\n${body}`;
  return { status, type: 'text/xml; charset=utf-8', body: declared };
}

export interface Target {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** `undefined` when the path cannot be decoded. A slash at the end means nothing. */
export function readTarget(url: string): Target | undefined {
  const [path = '', ...query] = url.split('?');
  try {
    const steps = path.split('/').filter((step) => step !== '');
    return { path: steps.map(decodeURIComponent), query: new URLSearchParams(query.join('?')) };
  } catch {
    return undefined;
  }
}
