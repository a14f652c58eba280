// Parses server-sent events (the WHATWG format) from chunks of bytes.

export interface ServerSentEvent {
  /** Absent if the event does not change where to resume. */
  readonly id?: string | undefined;
  /** Empty for frames that only carry an id. */
  readonly data: string;
}

export interface ParsedFrames {
  readonly events: readonly ServerSentEvent[];
  /** The time that the server requests before reconnecting. */
  readonly retryMs?: number | undefined;
}

/** Creates the parser of one stream. */
export function createEventParser(): (chunk: Uint8Array) => ParsedFrames {
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | undefined;
  let data: string[] = [];

  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    const events: ServerSentEvent[] = [];
    let retryMs: number | undefined;
    for (const line of lines) {
      if (line === '') {
        if (id !== undefined || data.length > 0) {
          events.push({ id, data: data.join('\n') });
        }
        id = undefined;
        data = [];
        continue;
      }
      const [field, value] = splitField(line);
      if (field === 'data') data.push(value);
      else if (field === 'id' && !value.includes('\0')) id = value;
      else if (field === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
    }
    return { events, retryMs };
  };
}

function splitField(line: string): readonly [field: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}
