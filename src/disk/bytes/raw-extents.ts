// Which parts of a disk file hold data. The file system knows it (SEEK_DATA), but Node cannot ask:
// qemu-img can. Without qemu-img the file is read and zeros are looked for.
import { resolve } from 'node:path';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { findTool } from '../../host/tools/tools.ts';
import { type ByteSource, openFileSource } from './byte-source.ts';
import { type Extent, isZero, joinExtents } from './extent.ts';

const scanSize = 1024 * 1024;
const granule = 64 * 1024;

/** The extents of a raw file that may hold something else than zero, up to `size` (default: all of it). */
export async function dataExtents(path: string, size?: number, signal?: AbortSignal): Promise<Extent[]> {
  const source = await openFileSource(path);
  try {
    const end = Math.min(size ?? source.size, source.size);
    const qemuImg = await findTool('qemu-img');
    if (qemuImg === undefined) return await scanZeros(source, end, signal);
    return await mapFile(qemuImg, resolve(path), end, signal);
  } finally {
    await source.close();
  }
}

interface MapPart {
  readonly start: number;
  readonly length: number;
  readonly zero: boolean;
  readonly data: boolean;
}

async function mapFile(
  qemuImg: string,
  path: string,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Extent[]> {
  const { stdout } = await runTool(qemuImg, ['map', '--output=json', '-f', 'raw', '--', path], { signal });
  const parts = JSON.parse(stdout.toString('utf8')) as MapPart[];
  const extents = parts
    .filter((part) => part.data && !part.zero && part.start < end)
    .map((part) => ({ offset: part.start, length: Math.min(part.length, end - part.start) }));
  return [...joinExtents(extents)];
}

/** Reads everything and leaves out runs of zeros, in steps of 64 KiB. */
export async function scanZeros(
  source: ByteSource,
  end = source.size,
  signal?: AbortSignal,
): Promise<Extent[]> {
  if (end > source.size) throw new ImagoError('internal', `${end} is behind the end of the disk`);
  const found: Extent[] = [];
  const buffer = Buffer.allocUnsafe(scanSize);
  for (let at = 0; at < end; at += scanSize) {
    throwIfAborted(signal);
    const part = await source.read(at, buffer.subarray(0, Math.min(scanSize, end - at)));
    for (let within = 0; within < part.length; within += granule) {
      const piece = part.subarray(within, within + granule);
      if (!isZero(piece)) found.push({ offset: at + within, length: piece.length });
    }
  }
  return [...joinExtents(found)];
}
