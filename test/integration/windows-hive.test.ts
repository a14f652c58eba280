// The reader of the registry on hives that hivexsh wrote, compared with what dissect, hivex and libregf read.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { type HiveKey, openHive } from '../../src/inventory/windows/registry-hive/hive.ts';
import { makeHive, sealHive } from '../support/hive.ts';
import { runWindowsTool } from '../support/ntfs-volume.ts';
import { judgeHive } from '../support/windows-judge.ts';

let folder: string;

beforeAll(async () => {
  await fetchTools({ group: 'windows' });
  folder = await mkdtemp(join(tmpdir(), 'imago-hive-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const content = {
  'Microsoft\\Windows NT\\CurrentVersion': {
    ProductName: 'Windows Server 2022 Datacenter',
    UBR: 5499,
    'Grüße 世界': 'é ж',
    '': 'the default',
    Large: 0x1_0000_0002n,
    Empty: { type: 3, bytes: new Uint8Array() },
    Bytes: { type: 3, bytes: Uint8Array.from({ length: 700 }, (_, index) => index & 255) },
    Several: ['one', 'two'],
    Path: { type: 2, bytes: Buffer.from('%SystemRoot%\\x\0', 'utf16le') },
  },
  'ключ\\ß': { small: { type: 3, bytes: Uint8Array.of(1, 2, 3) } },
  ...Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`Many\\key ${index}`, { index }])),
};

/** It opens /dev/stdout by name, which must be a pipe for that. */
async function hivexml(path: string): Promise<string> {
  const args = ['-c', '"$0" "$1" | cat', await requireTool('hivexml'), path];
  return (await runTool('/bin/sh', args, {})).stdout.toString('utf8');
}

type Flat = Record<string, (readonly [string, number, string])[]>;

function flatten(key: HiveKey, path = '', flat: Flat = {}): Flat {
  flat[path] = key
    .values()
    .map(({ name, type, bytes }) => [name, type, bytes.toString('hex')] as const)
    .sort((a, b) => (a[0] < b[0] ? -1 : 1));
  for (const child of key.keys()) flatten(child, `${path}\\${child.name}`, flat);
  return flat;
}

it('a hive has the keys, types and values that dissect reads, in as many as hivex and libregf find', async () => {
  const path = join(folder, 'SOFTWARE');
  await makeHive(path, content);
  const ours = flatten(openHive(await readFile(path)));
  const judged = await judgeHive(path);
  expect(ours).toEqual(judged);
  expect(Object.keys(ours)).toHaveLength(1507);
  const xml = await hivexml(path);
  expect(xml.match(/<node /g)).toHaveLength(1507);
  const values = Object.values(ours).reduce((sum, list) => sum + list.length, 0);
  expect(xml.match(/<value /g)).toHaveLength(values);
  expect((await runWindowsTool('regfexport', [path])).match(/^Key path: /gm)).toHaveLength(1507);
});

it('is asked regardless of case', async () => {
  const path = join(folder, 'case');
  await makeHive(path, content);
  const root = openHive(await readFile(path));
  expect(root.key('MICROSOFT\\windows nt\\currentVersion')?.value('ubr')?.bytes.readUInt32LE(0)).toBe(5499);
  expect(root.key('Microsoft\\Nothing\\There')).toBeUndefined();
});

it('a value in pieces is joined as dissect joins it', async () => {
  const path = join(folder, 'pieces');
  await makeHive(path, { Big: { value: { type: 3, bytes: Uint8Array.of(1, 2, 3, 4, 5) } } });
  const large = Buffer.from(Array.from({ length: 40_000 }, (_, index) => index % 251));
  await writeFile(path, withLargeValue(await readFile(path), large));
  const ours = openHive(await readFile(path))
    .key('Big')
    ?.value('value')?.bytes;
  expect(ours).toEqual(large);
  expect((await judgeHive(path))['\\Big']).toEqual([['value', 3, large.toString('hex')]]);
});

it('a dirty hive is refused, which hivex reads without a word', async () => {
  const path = join(folder, 'dirty');
  await makeHive(path, { Key: { value: 1 } });
  const bytes = await readFile(path);
  bytes.writeUInt32LE(bytes.readUInt32LE(4) + 1, 4);
  await writeFile(path, sealHive(bytes));
  expect(await hivexml(path)).toContain('Key');
  expect(() => openHive(bytes)).toThrow(/dirty/);
});

/** Gives the only value of a hive the content, in a new bin at the end of it. */
function withLargeValue(hive: Buffer, content: Buffer): Buffer {
  const value = hive.indexOf('vk', 4096, 'latin1');
  const piece = 16_344;
  const count = Math.ceil(content.length / piece);
  const cells: Buffer[] = [];
  const start = hive.length;
  let next = start - 4096 + 32;
  const add = (data: Buffer) => {
    const size = 8 * Math.ceil((data.length + 4) / 8);
    const bytes = Buffer.alloc(size);
    bytes.writeInt32LE(-size, 0);
    data.copy(bytes, 4);
    cells.push(bytes);
    next += size;
    return next - size;
  };
  const pieces = Array.from({ length: count }, (_, index) =>
    add(Buffer.concat([content.subarray(index * piece, (index + 1) * piece), Buffer.alloc(4)])),
  );
  const list = Buffer.alloc(count * 4);
  for (const [index, place] of pieces.entries()) list.writeUInt32LE(place, index * 4);
  const listPlace = add(list);
  const head = Buffer.alloc(12);
  head.write('db', 0, 'latin1');
  head.writeUInt16LE(count, 2);
  head.writeUInt32LE(listPlace, 4);
  const headPlace = add(head);
  const body = Buffer.concat(cells);
  const size = 4096 * Math.ceil((32 + body.length + 8) / 4096);
  const bin = Buffer.alloc(size);
  bin.write('hbin', 0, 'latin1');
  bin.writeUInt32LE(start - 4096, 4);
  bin.writeUInt32LE(size, 8);
  body.copy(bin, 32);
  bin.writeInt32LE(size - 32 - body.length, 32 + body.length);
  const whole = Buffer.concat([hive, bin]);
  whole.writeUInt32LE(whole.length - 4096, 40);
  whole.writeUInt32LE(content.length, value + 4);
  whole.writeUInt32LE(headPlace, value + 8);
  return sealHive(whole);
}
