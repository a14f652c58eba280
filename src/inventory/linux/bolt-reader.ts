// Reads bbolt databases, in which containerd keeps the names of its images. Strict and bounded: pages must lie in
// the file and keys must ascend, so that no page can be met twice.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface BoltItem {
  readonly key: Buffer;
  /** Of a plain key. */
  readonly value?: Buffer;
  /** Of a key that is a bucket. */
  readonly bucket?: BoltBucket;
}

export interface BoltBucket {
  /** In the order of keys. Throws `inventory-invalid` where the database is damaged. */
  items(): Generator<BoltItem>;
  /** The bucket under a key; `undefined` when there is none. */
  bucket(key: string): BoltBucket | undefined;
  /** The value under a key; `undefined` when there is none. */
  value(key: string): Buffer | undefined;
}

interface Page {
  /** From the page's header on, with what overflows into the next pages. */
  readonly bytes: Buffer;
  readonly isLeaf: boolean;
  readonly count: number;
}

const headerSize = 16;
const elementSize = 16;
const maxDepth = 64;

/** The root of a database. Of the two descriptions, the newest that is whole counts. */
export function openBolt(file: Buffer): BoltBucket {
  const first = readMeta(file, 0);
  const pageSizes = first === undefined ? [4096, 8192, 16_384, 65_536] : [first.pageSize];
  const second = pageSizes.map((size) => readMeta(file, size)).find((meta) => meta !== undefined);
  const metas = [first, second].filter((meta) => meta !== undefined);
  const meta = metas.sort((a, b) => Number(b.transaction - a.transaction))[0];
  if (meta === undefined) throw damaged('it has no description that is whole');
  const { pageSize } = meta;
  return makeBucket((id) => readPage(file, pageSize, id), meta.root, undefined, 0);
}

function readMeta(file: Buffer, offset: number) {
  if (offset + headerSize + 64 > file.length) return undefined;
  const bytes = file.subarray(offset + headerSize, offset + headerSize + 64);
  const pageSize = bytes.readUInt32LE(8);
  const isWhole = bytes.readUInt32LE(0) === 0xed0c_daed && bytes.readUInt32LE(4) === 2;
  if (!isWhole || fnv64(bytes.subarray(0, 56)) !== bytes.readBigUInt64LE(56)) return undefined;
  if (pageSize < 1024 || pageSize > 65_536) return undefined;
  return { pageSize, root: bytes.readBigUInt64LE(16), transaction: bytes.readBigUInt64LE(48) };
}

function fnv64(bytes: Buffer): bigint {
  let hash = 0xcbf2_9ce4_8422_2325n;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100_0000_01b3n) & 0xffff_ffff_ffff_ffffn;
  return hash;
}

function readPage(file: Buffer, pageSize: number, id: bigint): Page {
  if (id < 2n || id >= BigInt(Math.floor(file.length / pageSize))) throw damaged(`it has no page ${id}`);
  const start = Number(id) * pageSize;
  if (file.readBigUInt64LE(start) !== id) throw damaged(`page ${id} says that it is another`);
  const end = start + (file.readUInt32LE(start + 12) + 1) * pageSize;
  if (end > file.length) throw damaged(`page ${id} goes beyond the end`);
  return decodePage(file.subarray(start, end));
}

function decodePage(bytes: Buffer): Page {
  if (bytes.length < headerSize) throw damaged('a page is truncated');
  const flags = bytes.readUInt16LE(8);
  const count = bytes.readUInt16LE(10);
  if (flags !== 1 && flags !== 2) throw damaged('a page is of the wrong kind');
  if (headerSize + count * elementSize > bytes.length) throw damaged('a page is truncated');
  return { bytes, isLeaf: flags === 2, count };
}

type PageReader = (id: bigint) => Page;

function makeBucket(read: PageReader, root: bigint, inline: Page | undefined, level: number): BoltBucket {
  if (level > maxDepth) throw damaged('its buckets are nested too deeply');

  function* items(): Generator<BoltItem> {
    let last: Buffer | undefined;
    for (const element of walk(read, inline ?? read(root), 0)) {
      if (last !== undefined && last.compare(element.key) >= 0) throw damaged('its keys are out of order');
      last = element.key;
      if (element.isBucket) yield { key: element.key, bucket: openChild(read, element.value, level + 1) };
      else yield { key: element.key, value: element.value };
    }
  }

  function find(key: string): BoltItem | undefined {
    const wanted = Buffer.from(key);
    for (const item of items()) if (item.key.equals(wanted)) return item;
    return undefined;
  }

  return { items, bucket: (key) => find(key)?.bucket, value: (key) => find(key)?.value };
}

function openChild(read: PageReader, value: Buffer, level: number): BoltBucket {
  if (value.length < 16) throw damaged('a bucket is truncated');
  const root = value.readBigUInt64LE(0);
  const inline = root === 0n ? decodePage(value.subarray(16)) : undefined;
  if (inline?.isLeaf === false) throw damaged('a bucket is of the wrong kind');
  return makeBucket(read, root, inline, level);
}

interface Element {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly isBucket: boolean;
}

function* walk(read: PageReader, page: Page, depth: number): Generator<Element> {
  if (depth > maxDepth) throw damaged('its pages are nested too deeply');
  if (page.count === 0 && (depth > 0 || !page.isLeaf)) throw damaged('a page is empty');
  for (let index = 0; index < page.count; index += 1) {
    const at = headerSize + index * elementSize;
    if (page.isLeaf) yield leafElement(page.bytes, at);
    else yield* walk(read, read(page.bytes.readBigUInt64LE(at + 8)), depth + 1);
  }
}

function leafElement(bytes: Buffer, at: number): Element {
  const flags = bytes.readUInt32LE(at);
  const start = at + bytes.readUInt32LE(at + 4);
  const middle = start + bytes.readUInt32LE(at + 8);
  const end = middle + bytes.readUInt32LE(at + 12);
  if (flags > 1 || start < at + elementSize || end > bytes.length)
    throw damaged('an entry lies outside of its page');
  return { key: bytes.subarray(start, middle), value: bytes.subarray(middle, end), isBucket: flags === 1 };
}

function damaged(why: string): ImagoError {
  return new ImagoError('inventory-invalid', `containerd's database on the disk cannot be read: ${why}`);
}
