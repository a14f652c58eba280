// Server-sent events must come out the same however the network cuts them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventParser, type ServerSentEvent } from './event-stream.ts';

function parseAll(chunks: readonly Uint8Array[]): readonly ServerSentEvent[] {
  const parse = createEventParser();
  return chunks.flatMap((chunk) => parse(chunk).events);
}

describe('the parser', () => {
  test('gives every event once, wherever the bytes are cut', () => {
    const line = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n\0]/g, '·'));
    const event = fc.record({ id: fc.nat().map(String), data: line.filter((text) => text !== '') });
    fc.assert(
      fc.property(
        fc.array(event),
        fc.constantFrom('\n', '\r\n'),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        (events, end, sizes) => {
          const text = events
            .map(({ id, data }) => `id: ${id}${end}data: ${data}${end}${end}: comment${end}`)
            .join('');
          const bytes = new TextEncoder().encode(text);
          const chunks: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value ?? 1;
            chunks.push(bytes.slice(at, at + size));
            at += size;
          }
          const wanted = events.map(({ id, data }) => ({
            id,
            data: new TextDecoder().decode(new TextEncoder().encode(data)),
          }));
          expect(parseAll(chunks)).toEqual(wanted);
        },
      ),
    );
  });

  test('joins several data lines, and knows where an event without data stands', () => {
    const bytes = new TextEncoder().encode('retry: 500\nid: 7\n\ndata: a\ndata:b\n\n');
    expect(createEventParser()(bytes)).toEqual({
      events: [{ id: '7', data: '' }, { data: 'a\nb' }],
      retryMs: 500,
    });
  });

  test('keeps an event back until it is whole', () => {
    const parse = createEventParser();
    expect(parse(new TextEncoder().encode('id: 1\ndata: x\n')).events).toEqual([]);
    expect(parse(new TextEncoder().encode('\n')).events).toEqual([{ id: '1', data: 'x' }]);
  });
});
