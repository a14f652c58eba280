// The fixture is a database of containerd's shape that bbolt itself wrote: 60 images in the namespace k8s.io,
// enough for branches, a value that overflows its page, and buckets inside of others.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type BoltBucket, openBolt } from './bolt-reader.ts';

const database = gunzipSync(readFileSync(join(import.meta.dirname, 'containerd-database.fixture.gz')));

/** Everything in a bucket and below, as lines. */
function listAll(bucket: BoltBucket, path = ''): string[] {
  const lines: string[] = [];
  for (const { key, value, bucket: child } of bucket.items()) {
    const name = `${path}/${key.toString('latin1')}`;
    if (child === undefined) lines.push(`${name} ${value?.length}`);
    else lines.push(...listAll(child, name));
    if (lines.length > 100_000) throw new Error('the reader goes on and on');
  }
  return lines;
}

describe('a database that bbolt wrote', () => {
  it('is read in full', () => {
    const namespace = openBolt(database).bucket('v1')?.bucket('k8s.io');
    const names = [...(namespace?.bucket('images')?.items() ?? [])].map(({ key }) => key.toString());
    const expected = Array.from({ length: 60 }, (_, n) => `registry.example.com/images/number-${n}:1.${n}`);
    expect(names).toEqual(expected.sort());
    const image = namespace?.bucket('images')?.bucket('registry.example.com/images/number-30:1.30');
    expect(image?.bucket('target')?.value('digest')?.toString()).toBe(`sha256:${'1f'.padStart(64, '0')}`);
    expect(image?.bucket('labels')?.value('io.cri-containerd.pinned')?.toString()).toBe('pinned');
    expect(namespace?.value('long')).toHaveLength(9000);
    expect(namespace?.bucket('absent')).toBeUndefined();
    expect(namespace?.value('images')).toBeUndefined();
  });

  it('is read from its older description when the newer one is truncated', () => {
    const bytes = Buffer.from(database);
    const newer = bytes.readBigUInt64LE(16 + 48) > bytes.readBigUInt64LE(4096 + 16 + 48) ? 0 : 4096;
    bytes.writeUInt32LE(0, newer + 16);
    expect(openBolt(bytes)).toBeDefined();
  });

  it('is refused, and never followed in a loop, wherever it is damaged', () => {
    const used = Array.from({ length: database.length / 64 }, (_, index) => index * 64).filter((at) =>
      database.subarray(at, at + 64).some((byte) => byte !== 0),
    );
    fc.assert(
      fc.property(fc.constantFrom(...used), fc.nat(63), fc.nat(255), (start, within, value) => {
        const at = start + within;
        const before = database.readUInt8(at);
        database.writeUInt8(value, at);
        try {
          listAll(openBolt(database));
        } catch (error) {
          expect(error).toBeInstanceOf(ImagoError);
          expect(error).toMatchObject({ code: 'inventory-invalid' });
        } finally {
          database.writeUInt8(before, at);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is refused when it is truncated or something else', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(100_000), database.subarray(0, 8192)]) {
      expect(() => listAll(openBolt(bytes))).toThrow(ImagoError);
    }
  });
});
