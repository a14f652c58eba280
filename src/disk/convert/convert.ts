// Turns disks from one format into another: raw, VHD (fixed and dynamic) by our own code, qcow2 through
// qemu-img. Holes stay holes, and what is written follows from the input alone.
import { type FileHandle, open, stat, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type DiskFormat, diskFileFormat, diskSector } from '../../domain/image/disk-file.ts';
import { publishFile } from '../../host/files/durable-files.ts';
import { requireSpace } from '../../host/files/free-space.ts';
import { withWorkFolder } from '../../host/files/work-folder.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { requireTool } from '../../host/tools/tools.ts';
import { type ByteSource, openFileSource, readBytes, writeFully } from '../bytes/byte-source.ts';
import type { Extent } from '../bytes/extent.ts';
import { dataExtents } from '../bytes/raw-extents.ts';
import type { VhdIdentity } from '../vhd/footer.ts';
import { openVhd } from '../vhd/reader.ts';
import { appendVhdFooter, writeDynamicVhd } from '../vhd/writer.ts';

export interface ConvertInput {
  readonly from: string;
  readonly to: string;
  readonly format: DiskFormat;
  /** What a VHD says about itself. */
  readonly identity: VhdIdentity;
  /** For unfinished files; on the same file system as `to`. */
  readonly workFolder: string;
  readonly signal?: AbortSignal;
  /** Bytes of data copied so far. */
  readonly onBytes?: (bytes: number) => void;
}

interface OpenDisk {
  readonly disk: ByteSource;
  extents(): Promise<Iterable<Extent>> | AsyncIterable<Extent>;
}

const mebibyte = 1024 * 1024;
const copySize = 4 * mebibyte;
const countMs = 200;
/** A file system can give a file more than was written. */
const spareBytes = 64 * mebibyte;

/**
 * Converts a disk file of any known format. Replaces the file at `to` completely, or leaves it
 * unchanged. A raw disk that is not whole MiB is filled up with zeros when it becomes a fixed VHD.
 */
export async function convertDisk(input: ConvertInput): Promise<void> {
  await withWorkFolder(input.workFolder, async (folder) => {
    const result = join(folder, 'result');
    const file = await openFileSource(input.from);
    try {
      const format = await detectDiskFormat(file);
      if (format === 'qcow2') await fromQcow2(folder, result, input);
      else await fromFile(file, format, folder, result, input);
    } finally {
      await file.close();
    }
    throwIfAborted(input.signal);
    await publishFile(result, input.to);
  });
}

/** A small file can hold a large disk: all entries of its tables can lead to the same data. */
async function fromQcow2(folder: string, result: string, input: ConvertInput): Promise<void> {
  const data = await qcow2Data(input);
  await requireSpace(folder, data, 'The disk');
  if (input.format !== 'vhd-dynamic') {
    const format = input.format === 'qcow2' ? 'qcow2' : 'raw';
    await qemuConvert('qcow2', input.from, format, result, input, data);
    if (input.format === 'vhd-fixed') await padToVhd(result, input.identity);
    return;
  }
  const raw = join(folder, 'raw');
  await qemuConvert('qcow2', input.from, 'raw', raw, input, data);
  const source = await openFileSource(raw);
  try {
    await fromFile(source, 'raw', folder, result, { ...input, from: raw });
  } finally {
    await source.close();
  }
}

const measured = z.object({ required: z.number() });

/** The bytes of data that the disk has, and a little more. */
async function qcow2Data({ from, signal }: ConvertInput): Promise<number> {
  const args = ['measure', '--output=json', '-f', 'qcow2', '-O', 'qcow2', '--', resolve(from)];
  const { stdout } = await runTool(await requireTool('qemu-img'), args, { signal });
  return measured.parse(JSON.parse(stdout.toString('utf8'))).required;
}

async function padToVhd(path: string, identity: VhdIdentity): Promise<void> {
  const { size } = await stat(path);
  await truncate(path, Math.ceil(size / mebibyte) * mebibyte);
  await appendVhdFooter(path, identity);
}

async function fromFile(
  file: ByteSource,
  format: Exclude<DiskFormat, 'qcow2'>,
  folder: string,
  result: string,
  input: ConvertInput,
): Promise<void> {
  const opened = await openDisk(file, format, input);
  if (input.format === 'qcow2') {
    const raw = format === 'raw' ? input.from : join(folder, 'plain');
    if (format !== 'raw') await writeRaw(raw, opened, input);
    return qemuConvert('raw', raw, 'qcow2', result, input);
  }
  if (input.format === 'vhd-dynamic') return writeDynamic(result, opened, input);
  await writeRaw(result, opened, input);
  if (input.format === 'vhd-fixed') await appendVhdFooter(result, input.identity);
}

async function openDisk(file: ByteSource, format: DiskFormat, input: ConvertInput): Promise<OpenDisk> {
  if (format === 'raw') {
    return { disk: file, extents: () => dataExtents(input.from, file.size, input.signal) };
  }
  const vhd = await openVhd(file);
  if (format === 'vhd-dynamic') return { disk: vhd.disk, extents: () => vhd.extents() };
  return { disk: vhd.disk, extents: () => dataExtents(input.from, vhd.disk.size, input.signal) };
}

/** Counts what is written, and stops at `most` bytes. */
async function qemuConvert(
  from: string,
  source: string,
  to: string,
  target: string,
  input: ConvertInput,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const qemuImg = await requireTool('qemu-img');
  const args = ['convert', '-f', from, '-O', to, '--', resolve(source), resolve(target)];
  const over = new AbortController();
  const timer = setInterval(async () => {
    const written = (await stat(target).catch(() => undefined))?.blocks ?? 0;
    input.onBytes?.(written * 512);
    if (written * 512 <= most + spareBytes) return;
    over.abort(new ImagoError('input-invalid', 'The disk has more data than its tables say.'));
  }, countMs);
  const signals = [over.signal, ...(input.signal === undefined ? [] : [input.signal])];
  try {
    await runTool(qemuImg, args, { signal: AbortSignal.any(signals) });
  } finally {
    clearInterval(timer);
  }
}

async function withFile(path: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

async function writeDynamic(path: string, opened: OpenDisk, input: ConvertInput): Promise<void> {
  let done = 0;
  await withFile(path, async (file) =>
    writeDynamicVhd(file, {
      disk: opened.disk,
      extents: await opened.extents(),
      identity: input.identity,
      signal: input.signal,
      onBytes(bytes) {
        done += bytes;
        input.onBytes?.(done);
      },
    }),
  );
}

async function writeRaw(path: string, opened: OpenDisk, input: ConvertInput): Promise<void> {
  const buffer = Buffer.allocUnsafe(copySize);
  let done = 0;
  await withFile(path, async (file) => {
    const { size } = opened.disk;
    await file.truncate(input.format === 'vhd-fixed' ? Math.ceil(size / mebibyte) * mebibyte : size);
    for await (const extent of await opened.extents()) {
      for (let at = 0; at < extent.length; at += copySize) {
        throwIfAborted(input.signal);
        const part = buffer.subarray(0, Math.min(copySize, extent.length - at));
        await opened.disk.read(extent.offset + at, part);
        await writeFully(file, extent.offset + at, part);
        done += part.length;
        input.onBytes?.(done);
      }
    }
  });
}

/** Throws `input-invalid` for what is not a disk, or cannot be read alone. */
export async function detectDiskFormat(file: ByteSource): Promise<DiskFormat> {
  const length = Math.min(diskSector, file.size);
  return diskFileFormat({
    size: file.size,
    start: await readBytes(file, 0, length),
    end: await readBytes(file, file.size - length, length),
  });
}
