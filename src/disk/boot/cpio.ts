// Writes cpio archives in the newc form, which is what the Linux kernel unpacks as its first root.
import { ImagoError } from '../../domain/error/imago-error.ts';

export type CpioEntry =
  | { readonly path: string; readonly type: 'directory'; readonly mode?: number }
  | { readonly path: string; readonly type: 'file'; readonly mode?: number; readonly content: Uint8Array }
  | { readonly path: string; readonly type: 'symlink'; readonly target: string }
  | {
      readonly path: string;
      readonly type: 'character';
      readonly mode?: number;
      readonly major: number;
      readonly minor: number;
    };

interface Fields {
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array;
  readonly major: number;
  readonly minor: number;
}

function fieldsOf(entry: CpioEntry): Fields {
  const plain = { path: entry.path, content: Buffer.alloc(0), major: 0, minor: 0 };
  switch (entry.type) {
    case 'directory':
      return { ...plain, mode: 0o040_000 | (entry.mode ?? 0o755) };
    case 'file':
      return { ...plain, mode: 0o100_000 | (entry.mode ?? 0o644), content: entry.content };
    case 'symlink':
      return { ...plain, mode: 0o120_777, content: Buffer.from(entry.target) };
    case 'character':
      return { ...plain, mode: 0o020_000 | (entry.mode ?? 0o600), major: entry.major, minor: entry.minor };
  }
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

function encode(fields: Fields, inode: number, mtime: number): Buffer[] {
  if (fields.content.length > 0xffff_ffff)
    throw new ImagoError('internal', `${fields.path} is too big for cpio`);
  const nameSize = Buffer.byteLength(fields.path) + 1;
  const numbers = [
    inode,
    fields.mode,
    0,
    0,
    1,
    mtime,
    fields.content.length,
    0,
    0,
    fields.major,
    fields.minor,
    nameSize,
    0,
  ];
  const header = `070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`;
  return [padded(Buffer.from(`${header}${fields.path}\0`)), padded(fields.content)];
}

/** One archive of the entries in their order: folders must come before what is in them. */
export function writeCpio(entries: readonly CpioEntry[], mtime: number): Buffer {
  const parts = entries.flatMap((entry, index) => encode(fieldsOf(entry), index + 1, mtime));
  const trailer = { path: 'TRAILER!!!', mode: 0, content: Buffer.alloc(0), major: 0, minor: 0 };
  return Buffer.concat([...parts, ...encode(trailer, 0, 0)]);
}
