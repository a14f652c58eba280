// Refuses work that would fill a file system: a tenth of its free space stays free for the rest of the host.
import { statfs } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';

const usableShare = 0.9;

/** Throws `no-space` if the file system of the directory does not have room for the bytes. */
export async function requireSpace(folder: string, bytes: number, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free * usableShare >= bytes) return;
  throw new ImagoError(
    'no-space',
    `${what} needs ${formatBytes(bytes)}. The file system has ${formatBytes(free)} free, of which a tenth stays free.`,
  );
}
