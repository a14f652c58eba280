// Writes a bbolt database in one go. containerd keeps what it knows about images in two of them; written here
// rather than by containerd, they are the same bytes each time.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface BoltBucket {
  /** What the next NextSequence counts on from. */
  readonly sequence?: number;
  readonly entries: ReadonlyMap<string | Buffer, Buffer | BoltBucket>;
}

const pageSize = 4096;
const headerSize = 16;
const elementSize = 16;
const bucketHeader = 16;
const flags = { branch: 0x01, leaf: 0x02, meta: 0x04, freelist: 0x10 } as const;
const maxInline = pageSize / 4;

interface Item {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly isBucket: boolean;
}

interface ChildPage {
  readonly firstKey: Buffer;
  readonly id: number;
}

/** The whole file: two equal descriptions of it, an empty list of free pages, then the tree. */
export function boltFile(root: BoltBucket): Buffer {
  const pages: Buffer[] = [];
  const firstPage = 3;
  const allocate = (page: Buffer): number => {
    const id = firstPage + pages.reduce((sum, { length }) => sum + length / pageSize, 0);
    page.writeBigUInt64LE(BigInt(id), 0);
    pages.push(page);
    return id;
  };
  const rootPage = writeTree(itemsOf(root, allocate), allocate);
  const total = firstPage + pages.reduce((sum, { length }) => sum + length / pageSize, 0);
  const freelist = Buffer.alloc(pageSize);
  writeHeader(freelist, 2, flags.freelist, 0);
  const metas = [0, 1].map((id) => metaPage(id, rootPage, root.sequence ?? 0, total));
  return Buffer.concat([...metas, freelist, ...pages]);
}

function itemsOf(bucket: BoltBucket, allocate: (page: Buffer) => number): readonly Item[] {
  return [...bucket.entries]
    .map(([name, value]) => {
      const key = Buffer.from(name);
      if (key.length === 0) throw new ImagoError('internal', 'a bolt key is empty');
      if (Buffer.isBuffer(value)) return { key, value, isBucket: false };
      return { key, value: bucketValue(value, allocate), isBucket: true };
    })
    .sort((a, b) => Buffer.compare(a.key, b.key));
}

/** A small bucket without nested buckets is part of its parent's page. */
function bucketValue(bucket: BoltBucket, allocate: (page: Buffer) => number): Buffer {
  const items = itemsOf(bucket, allocate);
  const header = Buffer.alloc(bucketHeader);
  header.writeBigUInt64LE(BigInt(bucket.sequence ?? 0), 8);
  const inlineSize = headerSize + items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (inlineSize <= maxInline && items.every(({ isBucket }) => !isBucket)) {
    return Buffer.concat([header, leafPage(items, inlineSize)]);
  }
  header.writeBigUInt64LE(BigInt(writeTree(items, allocate)), 0);
  return header;
}

function sizeOf({ key, value }: Item): number {
  return elementSize + key.length + value.length;
}

/** The id of the page at the top. */
function writeTree(items: readonly Item[], allocate: (page: Buffer) => number): number {
  let level: ChildPage[] = groups(items, sizeOf).map((group) => {
    const size = headerSize + group.reduce((sum, item) => sum + sizeOf(item), 0);
    const page = leafPage(group, Math.ceil(size / pageSize) * pageSize);
    return { firstKey: group[0]?.key ?? Buffer.alloc(0), id: allocate(page) };
  });
  while (level.length > 1) {
    level = groups(level, ({ firstKey }) => elementSize + firstKey.length).map((group) => ({
      firstKey: group[0]?.firstKey ?? Buffer.alloc(0),
      id: allocate(branchPage(group)),
    }));
  }
  const [top] = level;
  if (top === undefined) throw new ImagoError('internal', 'a bolt tree has no page');
  return top.id;
}

/** As many as fit on a page, at least two; one empty group for nothing at all. */
function groups<T>(items: readonly T[], size: (item: T) => number): readonly (readonly T[])[] {
  const found: T[][] = [[]];
  let used = headerSize;
  for (const item of items) {
    const group = found.at(-1) ?? [];
    if (group.length >= 2 && used + size(item) > pageSize) {
      found.push([item]);
      used = headerSize + size(item);
      continue;
    }
    group.push(item);
    used += size(item);
  }
  const last = found.at(-1);
  const before = found.at(-2);
  const moved = last?.length === 1 && before !== undefined && before.length > 2 ? before.pop() : undefined;
  if (moved !== undefined) last?.unshift(moved);
  return found;
}

function leafPage(items: readonly Item[], size: number): Buffer {
  const page = Buffer.alloc(size);
  writeHeader(page, 0, flags.leaf, items.length);
  let at = headerSize + items.length * elementSize;
  for (const [index, { key, value, isBucket }] of items.entries()) {
    const element = headerSize + index * elementSize;
    page.writeUInt32LE(isBucket ? 1 : 0, element);
    page.writeUInt32LE(at - element, element + 4);
    page.writeUInt32LE(key.length, element + 8);
    page.writeUInt32LE(value.length, element + 12);
    key.copy(page, at);
    value.copy(page, at + key.length);
    at += key.length + value.length;
  }
  return page;
}

function branchPage(children: readonly ChildPage[]): Buffer {
  const size = headerSize + children.reduce((sum, { firstKey }) => sum + elementSize + firstKey.length, 0);
  const page = Buffer.alloc(Math.ceil(size / pageSize) * pageSize);
  writeHeader(page, 0, flags.branch, children.length);
  let at = headerSize + children.length * elementSize;
  for (const [index, { firstKey, id }] of children.entries()) {
    const element = headerSize + index * elementSize;
    page.writeUInt32LE(at - element, element);
    page.writeUInt32LE(firstKey.length, element + 4);
    page.writeBigUInt64LE(BigInt(id), element + 8);
    firstKey.copy(page, at);
    at += firstKey.length;
  }
  return page;
}

function writeHeader(page: Buffer, id: number, flag: number, count: number): void {
  if (count > 0xffff) throw new ImagoError('internal', `a bolt page has ${count} elements`);
  page.writeBigUInt64LE(BigInt(id), 0);
  page.writeUInt16LE(flag, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(Math.max(0, Math.ceil(page.length / pageSize) - 1), 12);
}

function metaPage(id: number, root: number, sequence: number, total: number): Buffer {
  const page = Buffer.alloc(pageSize);
  writeHeader(page, id, flags.meta, 0);
  page.writeUInt32LE(0xed0cdaed, 16);
  page.writeUInt32LE(2, 20);
  page.writeUInt32LE(pageSize, 24);
  page.writeBigUInt64LE(BigInt(root), 32);
  page.writeBigUInt64LE(BigInt(sequence), 40);
  page.writeBigUInt64LE(2n, 48);
  page.writeBigUInt64LE(BigInt(total), 56);
  page.writeBigUInt64LE(BigInt(id), 64);
  page.writeBigUInt64LE(fnv1a(page.subarray(16, 72)), 72);
  return page;
}

function fnv1a(bytes: Buffer): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
