// A machine's own disk: its writes, over a read-only image. Created in milliseconds, and nearly empty at first.
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeOverlay } from '../../../disk/qcow2/overlay.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { runTool } from '../../../host/process/run-tool.ts';
import { requireTool } from '../../../host/tools/tools.ts';
import type { CachedImage } from '../state/image-cache.ts';

export function diskPath(folder: string, serial: number): string {
  return join(folder, `disk-${serial}.qcow2`);
}

/** Creates the disk, at least as large as the image. Replaces an incomplete one of a killed process. */
export async function makeMachineDisk(image: CachedImage, path: string, leastBytes: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeOverlay(path, { backing: image.disk, bytes: Math.max(image.sizeBytes, leastBytes) });
}

/** Deletes the previous disks of the machine. */
export async function dropOtherDisks(folder: string, serial: number): Promise<void> {
  const current = `disk-${serial}.qcow2`;
  for (const name of await readdir(folder).catch(() => [])) {
    if (/^disk-\d+\.qcow2$/.test(name) && name !== current) await rm(join(folder, name), { force: true });
  }
}

/** Copies a disk that no process writes to. The copy appears when it is complete. */
export async function copyDisk(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const half = `${to}.partial`;
  await copyFile(from, half, constants.COPYFILE_FICLONE);
  const handle = await open(half, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(half, to);
}

const sizeOffset = 24;
const featuresOffset = 72;
const externalData = 1n << 2n;

/** Returns the size of the disk for its machine, from the file's header. */
export async function diskBytesOf(path: string): Promise<number> {
  return Number((await readHeader(path)).readBigUInt64BE(sizeOffset));
}

async function readHeader(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const header = Buffer.alloc(featuresOffset + 8);
    await handle.read(header, 0, header.length, 0);
    return header;
  } finally {
    await handle.close();
  }
}

/**
 * Writes a copied disk and the image under it to one raw file, with holes where it is zero. With `backing`, no name in
 * the disk is followed: the process of a machine can have changed it, and has fewer rights than a daemon that is root.
 */
export async function flattenDisk(
  from: string,
  to: string,
  signal: AbortSignal,
  backing?: string,
): Promise<void> {
  const options = ['convert', '-q', '-O', 'raw', '-S', '64k'];
  const source =
    backing === undefined
      ? ['-f', 'qcow2', '--', from]
      : ['--image-opts', '--', await sourceOver(backing, from)];
  await runTool(await requireTool('qemu-img'), [...options, ...source, to], { signal });
}

async function sourceOver(backing: string, disk: string): Promise<string> {
  const features = (await readHeader(disk)).readBigUInt64BE(featuresOffset);
  if ((features & externalData) !== 0n)
    throw new ImagoError('input-invalid', `The disk ${disk} has its data in another file.`);
  const file = (node: string, path: string) =>
    `${node}.driver=file,${node}.filename=${path.replaceAll(',', ',,')}`;
  return `driver=qcow2,${file('file', disk)},backing.driver=raw,${file('backing.file', backing)}`;
}
