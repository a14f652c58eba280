// Reads NTFS volumes without mounting them, strictly: every number is checked before it is followed, so that a damaged
// or hostile disk is refused and never makes Imago read, allocate or wait without bound. The log is not replayed: a
// volume that needs it is refused. Named streams are files of their own, `/name:stream`.
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ByteSource } from '../bytes/byte-source.ts';
import { defaultMaxEntries, type FileEntry, type FileTree, type WalkOptions } from '../tree/file-tree.ts';
import { type Content, contentExtents, contentName, readContent, streamContent } from './content.ts';
import { type Mft, readMft, recordFlags, wofStream, xpressChunk } from './mft.ts';
import { attributeTypes } from './record.ts';
import { type NtfsShape, ntfsInvalid, readShape } from './volume.ts';

export interface NtfsReader extends FileTree {
  readonly shape: NtfsShape;
  /** Records that no name leads to from the root: what a check of the volume would put elsewhere. */
  readonly lost: number;
}

export interface OpenNtfsOptions {
  /** Reads a volume that was not dismounted: what its log would change is not seen. */
  readonly allowUnclean?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const rootRecord = 5;
const records = { volume: 3, bitmap: 6, upCase: 10, extend: 11, firstUser: 16 } as const;
/** A stream's number is that of its file, and its place among the streams of it above the 32 bits of that. */
const streamStep = 2 ** 32;
const noAttributes: ReadonlyMap<string, Buffer> = new Map();
const maxLink = 16 * 1024;
const linkTags = new Map([
  [0xa000_000c, 20],
  [0xa000_0003, 16],
]);

/**
 * Opens a volume that begins at the start of `source`, and reads its whole file table. Throws `ntfs-invalid` for what
 * it cannot read, `ntfs-encrypted` for BitLocker, and `ntfs-unclean` when the volume is marked as dirty.
 */
export async function openNtfs(source: ByteSource, options: OpenNtfsOptions = {}): Promise<NtfsReader> {
  const shape = await readShape(source);
  const mft = await readMft(source, shape, options.signal);
  const totalBytes = shape.clusters * shape.clusterSize;

  async function system(record: number, type: number, maxBytes: number): Promise<Buffer> {
    const content = await mft.content(record, type);
    if (content === undefined || content.size > maxBytes) {
      throw ntfsInvalid(`its own file ${record} is missing or too large`);
    }
    return readContent(source, shape, content);
  }

  const volume = await system(records.volume, attributeTypes.volume, 64);
  if (volume.length < 12 || ((volume.readUInt16LE(10) & 1) !== 0 && options.allowUnclean !== true)) {
    throw new ImagoError('ntfs-unclean', 'The NTFS volume is marked as dirty: its log was not replayed.');
  }
  const bitmap = await system(records.bitmap, attributeTypes.data, shape.clusters / 8 + shape.clusterSize);
  const upCase = await system(records.upCase, attributeTypes.data, 131_072);
  const fold = (name: string) => foldName(name, upCase);
  const { children, lost } = placeNames(mft);

  async function linkOf(record: number): Promise<string | undefined> {
    const content = await mft.content(record, attributeTypes.reparse);
    if (content === undefined || content.size > maxLink || content.size < 16) return undefined;
    const bytes = await readContent(source, shape, content);
    const names = linkTags.get(bytes.readUInt32LE(0));
    if (names === undefined || bytes.length < names) return undefined;
    const part = (at: number) => {
      const [start, length] = [names + bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
      return start + length > bytes.length ? '' : bytes.toString('utf16le', start, start + length);
    };
    return part(12) || part(8);
  }

  const isReparsed = (record: number) => ((mft.flags[record] ?? 0) & recordFlags.reparse) !== 0;

  function describe(path: string, record: number, link?: string): FileEntry {
    const flags = mft.flags[record] ?? 0;
    const isFolder = (flags & recordFlags.folder) !== 0;
    const entry: FileEntry = {
      path,
      type: link !== undefined ? 'symlink' : isFolder ? 'directory' : 'file',
      mode: 0,
      uid: 0,
      gid: 0,
      size: link !== undefined || isFolder ? 0 : (mft.sizes[record] ?? 0),
      mtime: mft.times[record] ?? 0,
      link: link ?? '',
      device: undefined,
      inode: record,
      links: mft.links[record] ?? 0,
      attributes: noAttributes,
    };
    if (isFolder || (flags & (recordFlags.encrypted | recordFlags.wof)) === 0) return entry;
    if ((flags & recordFlags.encrypted) === 0 && xpressChunk(flags) !== undefined) return entry;
    return { ...entry, unreadable: (flags & recordFlags.encrypted) === 0 ? 'compressed' : 'encrypted' };
  }

  function* streamsOf(entry: FileEntry): Generator<FileEntry> {
    for (const [index, { name, size }] of (mft.streams.get(entry.inode) ?? []).entries()) {
      const inode = entry.inode + (index + 1) * streamStep;
      yield { ...entry, path: `${entry.path}:${printable(name)}`, type: 'file', size, link: '', inode };
    }
  }

  async function contentOf(inode: number): Promise<Content> {
    const record = inode % streamStep;
    const stream = mft.streams.get(record)?.[Math.floor(inode / streamStep) - 1];
    const name = inode < streamStep ? '' : stream?.name;
    const flags = mft.flags[record] ?? 0;
    if (
      name === undefined ||
      record < records.firstUser ||
      (name === '' && (flags & 3) !== recordFlags.used)
    ) {
      throw ntfsInvalid(`record ${record} is not a file`);
    }
    if ((flags & recordFlags.encrypted) !== 0) throw unreadable(record, 'encrypted');
    if (name === '' && (flags & recordFlags.wof) !== 0) {
      const chunk = xpressChunk(flags);
      const stream = await mft.content(record, attributeTypes.data, wofStream);
      if (chunk === undefined || stream === undefined || stream.size > maxPacked) {
        throw unreadable(record, 'compressed by the system');
      }
      return { ...emptyContent, size: mft.sizes[record] ?? 0, packed: { stream, chunk } };
    }
    return (await mft.content(record, attributeTypes.data, name)) ?? emptyContent;
  }

  async function* walk({ signal, maxEntries = defaultMaxEntries }: WalkOptions = {}) {
    const waiting: { path: string; record: number }[] = [{ path: '/', record: rootRecord }];
    let count = 0;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (++count > maxEntries) throw ntfsInvalid(`it has more than ${maxEntries} entries`);
      if (count % 1024 === 0) throwIfAborted(signal);
      const link = isReparsed(next.record) ? await linkOf(next.record) : undefined;
      const entry = describe(next.path, next.record, link);
      yield entry;
      if (mft.streams.has(next.record)) yield* streamsOf(entry);
      const prefix = next.path === '/' ? '/' : `${next.path}/`;
      const inside = children(next.record);
      for (let index = inside.length - 1; index >= 0; index -= 1) {
        const name = inside[index] ?? 0;
        const record = mft.nameRecords[name] ?? 0;
        if (record < records.firstUser || record === records.extend) continue;
        waiting.push({ path: `${prefix}${printable(mft.names[name] ?? '')}`, record });
      }
    }
  }

  return {
    ...{ shape, totalBytes, lost, walk },
    freeBytes: totalBytes - usedClusters(bitmap, shape.clusters) * shape.clusterSize,
    async find(path) {
      let record = rootRecord;
      let at = '';
      for (const part of path.split('/').filter((text) => text !== '')) {
        const wanted = fold(part);
        const name = children(record).find((index) => fold(mft.names[index] ?? '') === wanted);
        if (name === undefined) return undefined;
        record = mft.nameRecords[name] ?? 0;
        at += `/${mft.names[name]}`;
      }
      return describe(at === '' ? '/' : at, record, isReparsed(record) ? await linkOf(record) : undefined);
    },
    async *stream({ inode }) {
      yield* streamContent(source, shape, await contentOf(inode));
    },
    async read({ inode }, maxBytes) {
      const content = await contentOf(inode);
      if (content.size <= maxBytes) return readContent(source, shape, content);
      throw new ImagoError(
        'input-invalid',
        `a file has ${content.size} bytes, more than the ${maxBytes} expected`,
      );
    },
    async *extents({ inode }) {
      yield* contentExtents(await contentOf(inode), shape);
    },
    async identify({ inode }) {
      return contentName(source, shape, await contentOf(inode));
    },
  };
}

/** A larger one would not fit into memory. */
const maxPacked = 1024 ** 3;
const emptyContent: Content = { size: 0, value: Buffer.alloc(0), written: 0, unit: 0, runs: [] };

function unreadable(record: number, why: string): ImagoError {
  return new ImagoError('ntfs-invalid', `The content of record ${record} is ${why} and cannot be read.`);
}

/** The names inside of each folder, sorted. Names whose parent is another file by now are lost. */
function placeNames(mft: Mft): { readonly children: (record: number) => Uint32Array; readonly lost: number } {
  const { count, nameRecords, nameParents, nameSequences, names, flags, sequences } = mft;
  const starts = new Uint32Array(count + 1);
  const isPlaced = (index: number) => {
    const [record, parent] = [nameRecords[index] ?? 0, nameParents[index] ?? count];
    if (parent >= count || record === rootRecord || ((flags[record] ?? 0) & recordFlags.used) === 0)
      return false;
    if (((flags[parent] ?? 0) & 3) !== 3) return false;
    return sequences[parent] === nameSequences[index];
  };
  let placed = 0;
  for (let index = 0; index < names.length; index += 1) {
    if (!isPlaced(index)) continue;
    placed += 1;
    const slot = (nameParents[index] ?? 0) + 1;
    starts[slot] = (starts[slot] ?? 0) + 1;
  }
  for (let record = 0; record < count; record += 1) {
    starts[record + 1] = (starts[record + 1] ?? 0) + (starts[record] ?? 0);
  }
  const next = starts.slice();
  const order = new Uint32Array(placed);
  for (let index = 0; index < names.length; index += 1) {
    if (!isPlaced(index)) continue;
    const parent = nameParents[index] ?? 0;
    const slot = next[parent] ?? 0;
    order[slot] = index;
    next[parent] = slot + 1;
  }
  const byName = (a: number, b: number) => ((names[a] ?? '') < (names[b] ?? '') ? -1 : 1);
  const folders = new Set<number>();
  for (const index of order) {
    const record = nameRecords[index] ?? 0;
    if (((flags[record] ?? 0) & recordFlags.folder) === 0) continue;
    if (folders.has(record)) throw ntfsInvalid(`the folder of record ${record} is in two places`);
    folders.add(record);
  }
  function children(record: number): Uint32Array {
    return order.subarray(starts[record] ?? 0, starts[record + 1] ?? 0);
  }
  for (let record = 0; record < count; record += 1) {
    const inside = children(record);
    if (inside.length < 2) continue;
    inside.sort(byName);
    for (let index = 1; index < inside.length; index += 1) {
      if (names[inside[index] ?? 0] !== names[inside[index - 1] ?? 0]) continue;
      throw ntfsInvalid(`two entries of one folder are called ${JSON.stringify(names[inside[index] ?? 0])}`);
    }
  }
  return { children, lost: names.length - placed - 1 };
}

/** As the volume's own table says; names are equal to Windows if they are equal so. */
function foldName(name: string, upCase: Buffer): string {
  let folded = '';
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    folded += String.fromCharCode(code * 2 + 2 <= upCase.length ? upCase.readUInt16LE(code * 2) : code);
  }
  return folded;
}

/** Halves of surrogate pairs and the slash cannot be in a path. */
function printable(name: string): string {
  if (name.isWellFormed() && !name.includes('/')) return name;
  return name.replace(/\p{Cs}|\//gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function usedClusters(bitmap: Buffer, clusters: number): number {
  let used = 0;
  for (let at = 0; at < bitmap.length && at * 8 < clusters; at += 1) {
    const left = clusters - at * 8;
    let byte = (bitmap[at] ?? 0) & (left < 8 ? (1 << left) - 1 : 0xff);
    for (; byte !== 0; byte &= byte - 1) used += 1;
  }
  return used;
}
