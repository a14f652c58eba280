// Disks as files: out of the store in any format, and into it from an upload.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfAborted } from '../async/abort.ts';
import { openFileSource, readBytes, writeFully } from '../disk/bytes/byte-source.ts';
import type { Extent } from '../disk/bytes/extent.ts';
import { convertDisk, detectDiskFormat } from '../disk/convert/convert.ts';
import { encodeVhdFooter, type VhdIdentity, vhdSector } from '../disk/vhd/footer.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import {
  diskSector,
  type ExportFormat,
  exportFormats,
  requirePartitionTable,
} from '../domain/image/disk-file.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import { nameFileError } from '../host/files/durable-files.ts';
import { withWorkFolder } from '../host/files/work-folder.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { extractDisk } from '../oci/disks/extract-disk.ts';
import { openDisk, type StoredDiskReader } from '../oci/disks/open-disk.ts';
import { putDisk } from '../oci/disks/put-disk.ts';
import { type Digest, parseDigest } from '../oci/layout/digest.ts';
import type { DiskFiles, ExportedDisk, Upload } from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';
import { sealCaptured } from './seal-captured.ts';

const mebibyte = 1024 * 1024;
const pieceBytes = 2 * mebibyte;
const uploadPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const uploadAgeMs = 24 * 3_600_000;
/** What all uploads together can take up until they are imported or a day has passed. */
const uploadQuotaBytes = 256 * 1024 * mebibyte;
/** Seconds since 1970 in the footers of VHDs: the same version gives the same file. */
const vhdTime = 1_767_225_600;

export function diskFiles(
  context: Pick<VersionsContext, 'store' | 'workFolder' | 'now'>,
  quotaBytes: number = uploadQuotaBytes,
): DiskFiles {
  const uploads = join(context.workFolder, 'uploads');
  const work = join(context.workFolder, 'disks');
  const pathOf = (id: string) => join(uploads, id);
  /** Bytes of the uploads that are coming in. */
  const coming = new Map<string, number>();

  async function findUpload(id: string): Promise<Upload | undefined> {
    if (!uploadPattern.test(id)) return undefined;
    const source = await openFileSource(pathOf(id)).catch(() => undefined);
    if (source === undefined) return undefined;
    try {
      const format = await detectDiskFormat(source);
      return { id, sizeBytes: source.size, format };
    } finally {
      await source.close();
    }
  }

  /** Passes an upload on until all of them together exceed the quota. */
  async function* within(content: AsyncIterable<Uint8Array>, id: string, stored: number) {
    for await (const piece of content) {
      coming.set(id, (coming.get(id) ?? 0) + piece.byteLength);
      const all = [...coming.values()].reduce((sum, bytes) => sum + bytes, stored);
      if (all > quotaBytes) {
        throw new ImagoError('upload-quota', `Uploads would take up more than ${formatBytes(quotaBytes)}.`);
      }
      yield piece;
    }
  }

  return {
    findUpload,
    sealCaptured: (file, watch) => sealCaptured(context, file, watch),
    async exportDisk(text, format, signal) {
      const store = await context.store();
      const digest = parseDigest(text);
      if (format === 'raw' || format === 'vhd') return exportPlain(store, digest, format, signal);
      return exportConverted(store, digest, format, work, signal);
    },
    async upload(content, signal) {
      await mkdir(uploads, { recursive: true, mode: 0o700 });
      await sweepUploads(uploads, context.now());
      const id = randomUUID();
      coming.set(id, 0);
      try {
        const stored = await storedBytes(uploads, coming);
        await spool(pathOf(id), within(content, id, stored), signal);
        const upload = await findUpload(id);
        if (upload === undefined) throw new ImagoError('internal', 'an upload vanished');
        return upload;
      } catch (error) {
        await rm(pathOf(id), { force: true });
        throw nameFileError(error);
      } finally {
        coming.delete(id);
      }
    },
    async dropUpload(id) {
      if (uploadPattern.test(id)) await rm(pathOf(id), { force: true });
    },
    async importDisk(id, image, watch) {
      const found = await findUpload(id);
      if (found === undefined) throw new ImagoError('upload-not-found', `There is no upload ${id}.`);
      const store = await context.store();
      const path = pathOf(id);
      if (found.format === 'raw') return put(store, path, undefined, image, watch);
      if (found.format === 'vhd-fixed') return put(store, path, found.sizeBytes - vhdSector, image, watch);
      return withWorkFolder(work, async (folder) => {
        const raw = join(folder, 'disk.raw');
        watch.progress(0, found.sizeBytes, `reading the ${found.format} file`);
        const identity = identityOf(image);
        const onBytes = (bytes: number) => watch.progress(bytes, found.sizeBytes, 'reading the file');
        const request = { from: path, to: raw, format: 'raw', identity, workFolder: folder } as const;
        await convertDisk({ ...request, signal: watch.signal, onBytes });
        return put(store, raw, undefined, image, watch);
      });
    },
  };
}

async function put(
  store: DiskStore,
  path: string,
  size: number | undefined,
  image: string,
  watch: Parameters<DiskFiles['importDisk']>[2],
) {
  await requireDisk(path);
  const stored = await putDisk(store, path, {
    ...{ size, signal: watch.signal },
    annotations: { 'vnd.imago.image': image },
    onProgress: ({ position, size: total }) => watch.progress(position, total, 'storing the disk'),
  });
  const { digest, sha256, storedBytes } = stored;
  return { digest, diskDigest: sha256, sizeBytes: stored.size, storedBytes };
}

async function requireDisk(path: string): Promise<void> {
  const source = await openFileSource(path);
  try {
    requirePartitionTable(await readBytes(source, 0, Math.min(diskSector, source.size)));
  } finally {
    await source.close();
  }
}

async function exportPlain(
  store: DiskStore,
  digest: Digest,
  format: 'raw' | 'vhd',
  signal: AbortSignal,
): Promise<ExportedDisk> {
  const disk = await openDisk(store, digest);
  const whole = format === 'raw' ? disk.size : Math.ceil(disk.size / mebibyte) * mebibyte;
  const footer = format === 'raw' ? undefined : encodeVhdFooter('fixed', whole, identityOf(digest));
  async function* content() {
    try {
      yield* diskPieces(disk, whole, signal);
      if (footer !== undefined) yield footer;
    } finally {
      await disk.close();
    }
  }
  return { sizeBytes: whole + (footer?.length ?? 0), content, close: () => disk.close() };
}

/** The disk from its first byte to its last; one piece is read ahead while another is sent. */
async function* diskPieces(
  disk: StoredDiskReader,
  whole: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const zeros = Buffer.alloc(pieceBytes);
  const hasData = dataFinder(disk.extents);
  const read = async (at: number) => {
    const length = Math.min(pieceBytes, whole - at);
    const inside = Math.max(0, Math.min(length, disk.size - at));
    if (inside === 0 || !hasData(at, inside)) return zeros.subarray(0, length);
    const piece = Buffer.alloc(length);
    await disk.read(at, piece.subarray(0, inside));
    return piece;
  };
  let ahead = read(0);
  for (let at = 0; at < whole; at += pieceBytes) {
    throwIfAborted(signal);
    const piece = await ahead;
    if (at + pieceBytes < whole) {
      ahead = read(at + pieceBytes);
      ahead.catch(() => undefined);
    }
    yield piece;
  }
}

/** Whether a range holds data; asked in ascending order. */
function dataFinder(extents: readonly Extent[]): (at: number, length: number) => boolean {
  let next = 0;
  return (at, length) => {
    for (let extent = extents[next]; extent !== undefined; extent = extents[next]) {
      if (extent.offset + extent.length > at) return extent.offset < at + length;
      next += 1;
    }
    return false;
  };
}

async function exportConverted(
  store: DiskStore,
  digest: Digest,
  format: ExportFormat,
  work: string,
  signal: AbortSignal,
): Promise<ExportedDisk> {
  const ready = Promise.withResolvers<number>();
  const done = Promise.withResolvers<void>();
  let path = '';
  const lasting = withWorkFolder(work, async (folder) => {
    const raw = join(folder, 'disk.raw');
    path = join(folder, 'result');
    await extractDisk(store, digest, raw, { flush: false, signal });
    const request = { from: raw, to: path, format: exportFormats[format], identity: identityOf(digest) };
    await convertDisk({ ...request, workFolder: folder, signal });
    await rm(raw);
    ready.resolve((await stat(path)).size);
    await done.promise;
  });
  lasting.catch((error) => ready.reject(error));
  const sizeBytes = await ready.promise;
  async function close(): Promise<void> {
    done.resolve();
    await lasting;
  }
  async function* content() {
    try {
      yield* createReadStream(path, { highWaterMark: pieceBytes, signal });
    } finally {
      await close();
    }
  }
  return { sizeBytes, content, close };
}

function identityOf(name: string): VhdIdentity {
  const hex = createHash('sha256').update(`vhd ${name}`).digest('hex');
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)];
  return { timestamp: vhdTime, uuid: uuid.join('-') };
}

/** Writes what arrives, with holes where it is zero. */
async function spool(path: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let at = 0;
    for await (const piece of content) {
      throwIfAborted(signal);
      if (!isZero(piece)) await writeFully(file, at, piece);
      at += piece.byteLength;
    }
    await finish(file, at);
  } finally {
    await file.close();
  }
}

async function finish(file: FileHandle, size: number): Promise<void> {
  await file.truncate(size);
  await file.datasync();
}

const zeroPiece = Buffer.alloc(mebibyte);

function isZero(piece: Uint8Array): boolean {
  if (piece.byteLength > zeroPiece.length) return false;
  return zeroPiece.compare(piece, 0, piece.byteLength, 0, piece.byteLength) === 0;
}

/** Returns the size of the uploads that have come in. */
async function storedBytes(folder: string, coming: ReadonlyMap<string, number>): Promise<number> {
  const names = (await readdir(folder)).filter((name) => !coming.has(name));
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0);
}

async function sweepUploads(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && now - found.mtimeMs > uploadAgeMs)
      await rm(join(folder, name), { force: true });
  }
}
