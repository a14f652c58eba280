import { memoryUsage } from 'node:process';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFrame, readFrames, toFrames } from './console-frame.ts';

const json = JSON.stringify({ message: 'größer 😀\n|', steps: 'x'.repeat(500) });

describe('documents on a serial console', () => {
  it('arrive whole between lines of others, with the last one last', () => {
    const other = toFrames('report', '{"phase":"ready"}');
    const lines = [...toFrames('report', json), ...other].flatMap((one) => ['[  1.5] eth0: up', `${one}\r`]);
    const found = readFrames('report', lines);
    expect(found.map((text) => JSON.parse(text))).toEqual([JSON.parse(json), { phase: 'ready' }]);
    expect(readFrames('answer', lines)).toEqual([]);
    expect(lines.filter(isFrame)).toHaveLength(lines.length / 2);
  });

  it('arrive when two copies, each with a damaged line, complete one another', () => {
    const lines = toFrames('report', json);
    const first = lines.map((one, index) => (index === 0 ? one.slice(5) : one));
    const second = lines.map((one, index) =>
      index === 1 ? `${one.slice(0, 90)}[ 2.1] usb 1-1: new${one.slice(90)}` : one,
    );
    expect(readFrames('report', first)).toEqual([]);
    expect(readFrames('report', [...first, ...second]).map((text) => JSON.parse(text))).toEqual([
      JSON.parse(json),
    ]);
  });

  it('never arrive with a changed character', () => {
    const lines = toFrames('report', json);
    const place = fc.tuple(fc.nat(lines.length - 1), fc.nat(200), fc.string({ minLength: 1, maxLength: 1 }));
    fc.assert(
      fc.property(place, ([at, column, character]) => {
        const changed = lines.map((one, index) =>
          index === at ? one.slice(0, column) + character + one.slice(column + 1) : one,
        );
        for (const text of readFrames('report', changed)) expect(JSON.parse(text)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('take no more memory than their lines, however long they claim to be', () => {
    const lines = Array.from({ length: 2_000 }, (_, at) => {
      const place = `${at.toString(16).padStart(8, '0')} 1/10000`;
      return `imago-report 1 ${place} ${crc32(`${place} x`).toString(16).padStart(8, '0')} |x|`;
    });
    expect(lines.every(isFrame)).toBe(true);
    const before = memoryUsage().heapUsed;
    expect(readFrames('report', lines)).toEqual([]);
    expect(memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  });

  it('have the checksum of zlib', () => {
    const [text = ''] = toFrames('answer', '{}');
    expect(text).toContain(` ${crc32('{}').toString(16).padStart(8, '0')} `);
  });
});
