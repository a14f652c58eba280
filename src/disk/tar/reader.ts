// Reads tar archives strictly: ustar, GNU long names and PAX. What is damaged, ambiguous or reaches
// outside is refused, so that no two programs can see two different archives in one file.
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  type AbsolutePaths,
  normalisePath,
  staysInside,
  type TarEntry,
  type TarType,
  tarInvalid,
  tarUnsafe,
} from './entry.ts';
import { decodeHeader, paddingOf, type RawHeader, tarBlock } from './header.ts';
import type { TarInput } from './input.ts';
import { decodePax, decodeText } from './pax.ts';

export interface TarLimits {
  readonly maxEntries: number;
  /** For the content of all files together, and what PAX headers say about them. */
  readonly maxBytes: number;
}

export interface TarReadOptions extends TarLimits {
  /** `strip` takes /etc/x as etc/x. Refused unless given. */
  readonly absolute?: AbsolutePaths;
  /** Device nodes are refused unless allowed. */
  readonly devices?: 'refuse' | 'allow';
  /** `inside` refuses symlinks that are absolute or lead outside of the archive. Any unless given. */
  readonly symlinks?: 'any' | 'inside';
}

export interface TarRecord {
  readonly entry: TarEntry;
  /** Where the content begins in the archive. */
  readonly offset: number;
  /** The content, once, before the next record is asked for. What is left unread is skipped. */
  content(): AsyncGenerator<Buffer>;
}

const maxMetadata = 1024 * 1024;
const zeroBlock = Buffer.alloc(tarBlock);

interface Pending {
  readonly global: ReadonlyMap<string, Buffer>;
  readonly local: ReadonlyMap<string, Buffer>;
  readonly path: string | undefined;
  readonly link: string | undefined;
}

/** Yields the records of an archive in order. Throws `tar-invalid`, `tar-unsafe` or `tar-limit`. */
export async function* readTar(input: TarInput, options: TarReadOptions): AsyncGenerator<TarRecord> {
  const nothing: Pending = { global: new Map(), local: new Map(), path: undefined, link: undefined };
  let pending = nothing;
  let entries = 0;
  let bytes = 0;
  function count(size: number): void {
    bytes += size;
    if (bytes > options.maxBytes) throw limit(`the archive holds more than ${options.maxBytes} bytes`);
  }

  for (;;) {
    const block = await input.take(tarBlock);
    if (block.equals(zeroBlock)) break;
    const header = decodeHeader(block);
    if ('xgLK'.includes(header.flag)) {
      count(header.size);
      pending = await readMetadata(input, header, pending);
      continue;
    }
    if (++entries > options.maxEntries)
      throw limit(`the archive has more than ${options.maxEntries} entries`);
    const entry = completeEntry(header, pending, options);
    pending = { ...nothing, global: pending.global };
    count(entry.size);
    yield* record(input, entry);
  }
  if (pending.local.size > 0 || pending.path !== undefined || pending.link !== undefined) {
    throw tarInvalid('the archive ends with a header that belongs to nothing');
  }
  await expectEnd(input);
}

function limit(message: string): ImagoError {
  return new ImagoError('tar-limit', message);
}

async function* record(input: TarInput, entry: TarEntry): AsyncGenerator<TarRecord> {
  const offset = input.position;
  let left = entry.size;
  async function* content(): AsyncGenerator<Buffer> {
    while (left > 0) {
      const part = await input.takeSome(left);
      left -= part.length;
      yield part;
    }
  }
  yield { entry, offset, content };
  await input.skip(left + paddingOf(entry.size));
}

async function expectEnd(input: TarInput): Promise<void> {
  if (!(await input.take(tarBlock)).equals(zeroBlock))
    throw tarInvalid('the archive has only half of an end');
  for (let rest = await input.takeRest(); rest !== undefined; rest = await input.takeRest()) {
    if (rest.some((byte) => byte !== 0)) throw tarInvalid('the archive goes on behind its end');
  }
}

async function readMetadata(input: TarInput, header: RawHeader, pending: Pending): Promise<Pending> {
  if (header.size > maxMetadata) throw tarInvalid(`a header of ${header.size} bytes is too long`);
  const bytes = Buffer.from(await input.take(header.size));
  await input.skip(paddingOf(header.size));
  if (header.flag === 'g') return { ...pending, global: new Map([...pending.global, ...decodePax(bytes)]) };
  if (header.flag === 'x') {
    if (pending.local.size > 0) throw tarInvalid('two PAX headers belong to one entry');
    return { ...pending, local: decodePax(bytes) };
  }
  const end = bytes.indexOf(0);
  const text = decodeText(end < 0 ? bytes : bytes.subarray(0, end));
  return header.flag === 'L' ? { ...pending, path: text } : { ...pending, link: text };
}

function completeEntry(header: RawHeader, pending: Pending, options: TarReadOptions): TarEntry {
  const pax = new Map([...pending.global, ...pending.local]);
  const rawPath = paxText(pax, 'path') ?? pending.path ?? header.path;
  const rawLink = paxText(pax, 'linkpath') ?? pending.link ?? header.link;
  const absolute = options.absolute ?? 'refuse';
  const type = entryType(header, rawPath);
  const path = normalisePath(rawPath, absolute);
  const size = paxNumber(pax, 'size') ?? header.size;
  if (type !== 'file' && size !== 0) throw tarInvalid(`${path} is not a file, but has content`);
  if (type !== 'directory' && path === '') throw tarInvalid('the archive gives its own root another type');
  if ((type === 'symlink' || type === 'hardlink') && rawLink === '')
    throw tarInvalid(`the link ${path} has no target`);
  const isDevice = type === 'character' || type === 'block';
  if (isDevice && options.devices !== 'allow') throw tarUnsafe(`${path} is a device`);
  if (type === 'symlink' && options.symlinks === 'inside' && !staysInside(path, rawLink)) {
    throw tarUnsafe(`the link ${path} leads outside of the archive, to ${rawLink}`);
  }
  return {
    path,
    type,
    mode: header.mode,
    uid: ownerId(paxNumber(pax, 'uid') ?? header.uid, path),
    gid: ownerId(paxNumber(pax, 'gid') ?? header.gid, path),
    mtime: paxTime(pax) ?? header.mtime,
    size,
    link: type === 'hardlink' ? normalisePath(rawLink, absolute) : type === 'symlink' ? rawLink : '',
    device: isDevice ? { major: header.major, minor: header.minor } : undefined,
    xattrs: extendedAttributes(pax, path),
  };
}

function entryType(header: RawHeader, path: string): TarType {
  if (header.flag === 'S') throw tarInvalid(`${path} was stored with --sparse, which Imago does not read`);
  if (header.type === undefined) {
    throw tarInvalid(`${path} has the unknown type ${JSON.stringify(header.flag)}`);
  }
  return header.type === 'file' && path.endsWith('/') ? 'directory' : header.type;
}

function ownerId(id: number, path: string): number {
  if (id >= 2 ** 32 - 1) throw tarInvalid(`${path} has the owner id ${id}, which Linux does not have`);
  return id;
}

function paxText(pax: ReadonlyMap<string, Buffer>, key: string): string | undefined {
  const value = pax.get(key);
  if (value === undefined || value.length === 0) return undefined;
  if (value.includes(0)) throw tarInvalid(`the ${key} of a PAX header holds a zero byte`);
  return decodeText(value);
}

function paxNumber(pax: ReadonlyMap<string, Buffer>, key: string): number | undefined {
  const text = paxText(pax, key);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value))
    throw tarInvalid(`the ${key} ${text} is not a number`);
  return value;
}

function paxTime(pax: ReadonlyMap<string, Buffer>): number | undefined {
  const text = paxText(pax, 'mtime');
  if (text === undefined) return undefined;
  const value = Math.max(0, Math.floor(Number(text)));
  if (!/^-?[0-9]+(\.[0-9]*)?$/.test(text) || !Number.isSafeInteger(value)) {
    throw tarInvalid(`the time ${text} is not a number`);
  }
  return value;
}

function extendedAttributes(pax: ReadonlyMap<string, Buffer>, path: string): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const [key, value] of pax) {
    if (key.startsWith('SCHILY.xattr.')) found.set(key.slice('SCHILY.xattr.'.length), Buffer.from(value));
    else if (key.startsWith('GNU.sparse.'))
      throw tarInvalid(`${path} was stored with --sparse, which Imago does not read`);
    else if (key.startsWith('SCHILY.acl.') && !isPlainAcl(value)) {
      throw tarInvalid(`${path} was stored with --acls, which Imago does not read`);
    }
  }
  return found;
}

/** An access list that says no more than the permission bits do. */
function isPlainAcl(value: Buffer): boolean {
  const lines = value
    .toString('latin1')
    .split(/[\n,]/)
    .filter((line) => line !== '');
  return lines.length <= 3 && lines.every((line) => /^(user|group|other)::[r-][w-][x-]$/.test(line));
}
