// The 512-byte header of ustar, GNU tar and the old v7, both ways.
import { type TarEntry, type TarType, tarInvalid } from './entry.ts';
import { decodeText, encodePax } from './pax.ts';

export const tarBlock = 512;

const typeByFlag: Readonly<Record<string, TarType>> = {
  '0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'character',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
};
const flagByType = {
  file: '0',
  hardlink: '1',
  symlink: '2',
  character: '3',
  block: '4',
  directory: '5',
  fifo: '6',
} as const satisfies Record<TarType, string>;

export interface RawHeader {
  readonly path: string;
  readonly flag: string;
  readonly type: TarType | undefined;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly link: string;
  readonly major: number;
  readonly minor: number;
}

function field(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at);
  return decodeText(block.subarray(at, end < 0 || end > at + length ? at + length : end));
}

function number(block: Buffer, at: number, length: number, what: string): number {
  const first = block.readUInt8(at);
  if ((first & 0x80) !== 0) return base256(block, at, length, what);
  const text = block
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+$/, '')
    .replace(/^ +/, '');
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw tarInvalid(`the ${what} ${JSON.stringify(text)} is not an octal number`);
  return Number.parseInt(text, 8);
}

function base256(block: Buffer, at: number, length: number, what: string): number {
  if (block.readUInt8(at) === 0xff) {
    if (what === 'time') return 0;
    throw tarInvalid(`the ${what} is negative`);
  }
  let value = BigInt(block.readUInt8(at) & 0x7f);
  for (let index = at + 1; index < at + length; index++)
    value = value * 256n + BigInt(block.readUInt8(index));
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw tarInvalid(`the ${what} is too large to be true`);
  return Number(value);
}

function checksum(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let at = 0; at < 148; at++) sum += block[at] ?? 0;
  for (let at = 156; at < tarBlock; at++) sum += block[at] ?? 0;
  return sum;
}

export function decodeHeader(block: Buffer): RawHeader {
  if (number(block, 148, 8, 'checksum') !== checksum(block))
    throw tarInvalid('a header is damaged: wrong checksum');
  const magic = block.toString('latin1', 257, 263);
  if (magic !== 'ustar\0' && magic !== 'ustar ' && magic !== '\0\0\0\0\0\0') {
    throw tarInvalid('a header is not that of a tar archive');
  }
  const prefix = magic === 'ustar\0' ? field(block, 345, 155) : '';
  const name = field(block, 0, 100);
  const flag = String.fromCharCode(block.readUInt8(156) || 0x30);
  const type = typeByFlag[flag];
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    flag,
    type: type === 'file' && name.endsWith('/') ? 'directory' : type,
    mode: number(block, 100, 8, 'mode') & 0o7777,
    uid: number(block, 108, 8, 'user id'),
    gid: number(block, 116, 8, 'group id'),
    size: number(block, 124, 12, 'size'),
    mtime: number(block, 136, 12, 'time'),
    link: field(block, 157, 100),
    major: type === 'character' || type === 'block' ? number(block, 329, 8, 'device') : 0,
    minor: type === 'character' || type === 'block' ? number(block, 337, 8, 'device') : 0,
  };
}

function splitPath(path: string): { prefix: string; name: string } | undefined {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const name = path.slice(at + 1);
    if (name === '' || Buffer.byteLength(path.slice(0, at)) > 155) return undefined;
    if (Buffer.byteLength(name) <= 100) return { prefix: path.slice(0, at), name };
  }
  return undefined;
}

function octal(block: Buffer, value: number, at: number, length: number): void {
  block.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1');
}

interface HeaderFields {
  readonly name: string;
  readonly prefix: string;
  readonly flag: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly link: string;
  readonly device: TarEntry['device'];
}

function encodeFields(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(tarBlock);
  block.write(fields.name, 0);
  octal(block, fields.mode, 100, 8);
  octal(block, fields.uid, 108, 8);
  octal(block, fields.gid, 116, 8);
  octal(block, fields.size, 124, 12);
  octal(block, fields.mtime, 136, 12);
  block.write(fields.flag, 156, 'latin1');
  block.write(fields.link, 157);
  block.write('ustar\x0000', 257, 'latin1');
  octal(block, fields.device?.major ?? 0, 329, 8);
  octal(block, fields.device?.minor ?? 0, 337, 8);
  block.write(fields.prefix, 345);
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Zero bytes that bring content of `size` bytes to whole blocks. */
export function paddingOf(size: number): number {
  return (tarBlock - (size % tarBlock)) % tarBlock;
}

/** The header of an entry, with a PAX header before it where plain ustar cannot say everything. */
export function encodeHeader(entry: TarEntry): Buffer {
  const pax = new Map<string, Buffer>();
  for (const [name, value] of entry.xattrs) pax.set(`SCHILY.xattr.${name}`, value);
  const path = entry.path === '' ? './' : entry.type === 'directory' ? `${entry.path}/` : entry.path;
  const split = splitPath(path);
  if (split === undefined) pax.set('path', Buffer.from(path));
  if (Buffer.byteLength(entry.link) > 100) pax.set('linkpath', Buffer.from(entry.link));
  const fits = (key: string, value: number, limit: number) => {
    if (value < limit) return value;
    pax.set(key, Buffer.from(String(value)));
    return 0;
  };
  const header = encodeFields({
    name: split?.name ?? cutUtf8(path, 100),
    prefix: split?.prefix ?? '',
    flag: flagByType[entry.type],
    mode: entry.mode,
    uid: fits('uid', entry.uid, 8 ** 7),
    gid: fits('gid', entry.gid, 8 ** 7),
    size: fits('size', entry.size, 8 ** 11),
    mtime: fits('mtime', entry.mtime, 8 ** 11),
    link: cutUtf8(entry.link, 100),
    device: entry.device,
  });
  if (pax.size === 0) return header;
  const records = encodePax(pax);
  const paxHeader = encodeFields({
    name: 'PaxHeader',
    prefix: '',
    flag: 'x',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: records.length,
    mtime: 0,
    link: '',
    device: undefined,
  });
  return Buffer.concat([paxHeader, records, Buffer.alloc(paddingOf(records.length)), header]);
}

/** Cuts at a whole character, so that the header contains valid text even when PAX replaces it. */
function cutUtf8(text: string, length: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= length) return text;
  let end = length;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
