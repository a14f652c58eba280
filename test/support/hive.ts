// Hives of the registry for tests: an empty one written here byte by byte, filled by hivexsh.
import { writeFile } from 'node:fs/promises';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';

/** Keys by their paths, with their values. Parents are made as needed. */
export type HiveContent = Readonly<Record<string, Readonly<Record<string, HiveDatum>>>>;
/** A text, a number, several texts, or bytes of a given type. */
export type HiveDatum = string | number | bigint | readonly string[] | HiveBytes;
export interface HiveBytes {
  readonly type: number;
  readonly bytes: Uint8Array;
}

const base = 4096;

/** As Windows lays one out: a first block, and one bin with the root key and the security that it names. */
function emptyHive(): Buffer {
  const bytes = Buffer.alloc(base * 2);
  bytes.write('regf', 0, 'latin1');
  for (const [at, value] of [
    [4, 1],
    [8, 1],
    [20, 1],
    [24, 5],
    [32, 1],
    [36, 32],
    [40, base],
    [44, 1],
  ] as const)
    bytes.writeUInt32LE(value, at);
  bytes.write('hbin', base, 'latin1');
  bytes.writeUInt32LE(base, base + 8);
  const key = base + 32;
  const name = 'root';
  bytes.writeInt32LE(-88, key);
  bytes.write('nk', key + 4, 'latin1');
  bytes.writeUInt16LE(0x2c, key + 6);
  bytes.writeUInt32LE(0xffff_ffff, key + 4 + 16);
  for (const at of [28, 32, 40, 48]) bytes.writeUInt32LE(0xffff_ffff, key + 4 + at);
  bytes.writeUInt32LE(32 + 88, key + 4 + 44);
  bytes.writeUInt16LE(name.length, key + 4 + 72);
  bytes.write(name, key + 4 + 76, 'latin1');
  const security = key + 88;
  const descriptor = Buffer.from('010004800000000000000000000000001400000002000000', 'hex');
  const size = 8 * Math.ceil((24 + descriptor.length) / 8);
  bytes.writeInt32LE(-size, security);
  bytes.write('sk', security + 4, 'latin1');
  for (const at of [4, 8]) bytes.writeUInt32LE(32 + 88, security + 4 + at);
  bytes.writeUInt32LE(1, security + 4 + 12);
  bytes.writeUInt32LE(descriptor.length, security + 4 + 16);
  descriptor.copy(bytes, security + 4 + 20);
  bytes.writeInt32LE(base - 32 - 88 - size, security + size);
  return sealHive(bytes);
}

/** Writes the checksum of the first block anew. */
export function sealHive(bytes: Buffer): Buffer {
  let sum = 0;
  for (let at = 0; at < 508; at += 4) sum ^= bytes.readUInt32LE(at);
  bytes.writeUInt32LE(sum >>> 0, 508);
  return bytes;
}

export async function makeHive(path: string, content: HiveContent): Promise<void> {
  await writeFile(path, emptyHive());
  const lines: string[] = [];
  const known = new Set<string>(['']);
  for (const [place, values] of Object.entries(content)) {
    let at = '';
    for (const part of place.split('\\')) {
      const next = at === '' ? part : `${at}\\${part}`;
      if (!known.has(next)) lines.push(`cd \\${at}`, `add ${part}`);
      known.add(next);
      at = next;
    }
    const entries = Object.entries(values);
    lines.push(`cd \\${place}`, `setval ${entries.length}`);
    for (const [name, value] of entries) lines.push(name === '' ? '@' : name, datum(value));
  }
  async function* commands() {
    yield Buffer.from(`${lines.join('\n')}\ncommit\n`);
  }
  const result = await runTool(await requireTool('hivexsh'), ['-w', path], { stdin: commands() });
  const said = result.stdout.toString('utf8').trim();
  if (said !== '') throw new Error(`hivexsh: ${said}`);
}

function datum(value: HiveDatum): string {
  if (typeof value === 'number') return `dword:${value}`;
  if (typeof value === 'bigint') return hex(11, Buffer.from(new BigUint64Array([value]).buffer));
  if (typeof value === 'string') return hex(1, Buffer.from(`${value}\0`, 'utf16le'));
  if ('bytes' in value) return hex(value.type, value.bytes);
  return hex(7, Buffer.from(`${value.join('\0')}\0\0`, 'utf16le'));
}

function hex(type: number, bytes: Uint8Array): string {
  return `hex:${type}:${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(',')}`;
}
