// Damaged volumes and hives: a thousand of each read consistently or are refused, and none takes more than a second of processor time.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openNtfs } from '../../src/disk/ntfs/reader.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { hashFiles } from '../../src/inventory/hash-files.ts';
import { type HiveKey, openHive } from '../../src/inventory/windows/registry-hive/hive.ts';
import { bufferSource } from '../support/buffer-source.ts';
import { makeHive, sealHive } from '../support/hive.ts';
import { makeNtfs } from '../support/ntfs-volume.ts';
import { patience } from '../support/speed.ts';

let folder: string;

beforeAll(async () => {
  await fetchTools({ group: 'windows' });
  folder = await mkdtemp(join(tmpdir(), 'imago-fuzz-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The same numbers in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const values = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff];

/** Runs `read` on a thousand mutated copies: it may only answer or refuse with one of the codes. */
async function mutate(
  bytes: Buffer,
  places: readonly number[],
  codes: readonly string[],
  read: (bytes: Buffer) => Promise<unknown>,
): Promise<Map<string, number>> {
  const random = randomNumbers(20_348);
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 1000; round += 1) {
    const undo: [number, number][] = [];
    for (let count = 1 + random(4); count > 0; count -= 1) {
      const at = (places[random(places.length)] ?? 0) + random(64);
      undo.push([at, bytes.readUInt8(at)]);
      bytes.writeUInt8(random(2) === 0 ? random(256) : (values[random(values.length)] ?? 0), at);
    }
    const started = process.cpuUsage();
    const outcome = await read(bytes).then(
      () => 'read',
      (error: unknown) => {
        if (error instanceof ImagoError && codes.includes(error.code)) return error.code;
        throw error;
      },
    );
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1000).toBeLessThan(patience(1000));
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (const [at, value] of undo.reverse()) bytes.writeUInt8(value, at);
  }
  return outcomes;
}

function used(bytes: Buffer, from: number, size: number): number[] {
  return Array.from(
    { length: Math.floor((bytes.length - from) / size) },
    (_, index) => from + index * size,
  ).filter((at) => bytes.subarray(at, at + size).some((byte) => byte !== 0));
}

it(
  'a thousand mutated volumes are read or refused, each within a second',
  async () => {
    const path = join(folder, 'volume');
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `Windows/f${index % 7}/file ${index}.txt`,
        'x'.repeat(index * 90),
      ]),
    );
    await makeNtfs(
      path,
      { files, hardLinks: { 'other.txt': 'Windows/f1/file 1.txt' }, symlinks: { link: 'Windows' } },
      { megabytes: 6 },
    );
    const bytes = await readFile(path);
    const readAll = async (mutated: Buffer) => {
      const reader = await openNtfs(bufferSource(mutated));
      const entries = [];
      for await (const entry of reader.walk({ maxEntries: 10_000 })) entries.push(entry);
      await hashFiles(reader, entries);
      return entries.length;
    };
    expect(await readAll(bytes)).toBeGreaterThan(60);
    const codes = ['ntfs-invalid', 'ntfs-unclean', 'ntfs-encrypted', 'inventory-invalid', 'input-invalid'];
    const table = bytes.readUInt32LE(48) * 4096;
    const places = [0, ...used(bytes.subarray(0, table + 140 * 1024), table, 64)];
    const outcomes = await mutate(bytes, places, codes, readAll);
    expect(outcomes.get('read')).toBeGreaterThan(100);
    expect(outcomes.get('ntfs-invalid')).toBeGreaterThan(100);
  },
  patience(120_000),
);

it(
  'a thousand mutated hives are read or refused, each within a second',
  async () => {
    const path = join(folder, 'hive');
    const keys = Array.from({ length: 120 }, (_, index) => [
      `Root\\Key ${index % 11}\\Sub ${index}`,
      { number: index, text: 'x'.repeat(index), list: ['a', 'b'] },
    ]);
    await makeHive(path, Object.fromEntries(keys));
    const bytes = await readFile(path);
    const walk = (key: HiveKey, depth: number): number => {
      if (depth > 64) throw new ImagoError('hive-invalid', 'too deep');
      return key.values().length + key.keys().reduce((sum, child) => sum + walk(child, depth + 1), 0);
    };
    const readAll = async (mutated: Buffer) => walk(openHive(sealHive(Buffer.from(mutated))), 0);
    expect(await readAll(bytes)).toBe(360);
    const outcomes = await mutate(bytes, used(bytes, 4096, 64), ['hive-invalid', 'hive-unclean'], readAll);
    expect(outcomes.get('read')).toBeGreaterThan(100);
    expect(outcomes.get('hive-invalid')).toBeGreaterThan(100);
  },
  patience(120_000),
);
