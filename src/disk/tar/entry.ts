// What Imago knows about one entry of a tar archive, and the rules for its names.
import { ImagoError } from '../../domain/error/imago-error.ts';

export type TarType = 'file' | 'directory' | 'symlink' | 'hardlink' | 'character' | 'block' | 'fifo';

export interface TarEntry {
  /** Without leading `./` or `/` and without trailing `/`; empty for the root itself. */
  readonly path: string;
  readonly type: TarType;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Whole seconds since 1970, never negative. */
  readonly mtime: number;
  /** Bytes of content; 0 for all but files. */
  readonly size: number;
  /** A symlink's target as written, or a hard link's path in the form of `path`; else empty. */
  readonly link: string;
  readonly device: { readonly major: number; readonly minor: number } | undefined;
  /** Extended attributes by their full name, such as `security.capability`. */
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

export function tarInvalid(message: string): ImagoError {
  return new ImagoError('tar-invalid', message);
}

export function tarUnsafe(message: string): ImagoError {
  return new ImagoError('tar-unsafe', message);
}

export type AbsolutePaths = 'refuse' | 'strip';

/** Brings a path to the form of `TarEntry.path`; refuses one that could lead outside. */
export function normalisePath(raw: string, absolute: AbsolutePaths): string {
  if (raw.startsWith('/') && absolute === 'refuse') {
    throw tarUnsafe(`${JSON.stringify(raw)} is an absolute path`);
  }
  const parts = raw.split('/').filter((part) => part !== '' && part !== '.');
  for (const part of parts) {
    if (part === '..') throw tarUnsafe(`${JSON.stringify(raw)} leads outside of the archive`);
    if (Buffer.byteLength(part) > 255)
      throw tarInvalid(`a name in ${JSON.stringify(raw)} has more than 255 bytes`);
  }
  const path = parts.join('/');
  if (Buffer.byteLength(path) > 4096) throw tarInvalid('a path has more than 4096 bytes');
  return path;
}

/** Whether a symlink at `path` stays below the root of the archive. */
export function staysInside(path: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  let depth = path.split('/').length - 1;
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    depth += part === '..' ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}
