// Uploads a sealed disk of the local store to a managed disk: only pages that hold data, several at a time, without a
// copy on this host. What an interrupted upload has sent is not sent again.
import { createHash } from 'node:crypto';
import { mapLimit } from '../../../async/map-limit.ts';
import { readBytes } from '../../../disk/bytes/byte-source.ts';
import { type Extent, isZero } from '../../../disk/bytes/extent.ts';
import { encodeVhdFooter, vhdSector } from '../../../disk/vhd/footer.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { invalid, notFound } from '../../../domain/error/refusals.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import { actionOf, at } from '../arm/address.ts';
import type { Started } from '../arm/client.ts';
import type { Body, Resource, WireDisk } from '../arm/wire.ts';
import type { AzureContext, SealedDisk } from '../context.ts';
import { holds, openPageBlob, type PageBlob } from './page-blob.ts';

type Disk = Resource<WireDisk>;

const mebibyte = 2 ** 20;
/** The largest that Azure accepts in one request. */
const windowBytes = 4 * mebibyte;
/** What is zero is skipped in pieces of this size. */
const pieceBytes = 64 * 1024;
const parallel = 8;
const grantSeconds = 24 * 3_600;
/** No one waits for it, and a copy takes minutes. */
const dropCheckMs = 30_000;
const leftoverMs = 24 * 3_600_000;
const made = { key: 'imago-made', value: 'upload' } as const;
const completeKey = 'imago-complete';

/** Returns a managed disk with the bytes. A second call returns the same, or resumes the first one. */
export async function uploadDisk(
  context: AzureContext,
  digest: string,
  location: string,
  options: CallOptions,
): Promise<{ readonly id: string }> {
  const sealed = await context.sealedDisks.open(digest);
  if (sealed === undefined) throw notFound(`The local store has no disk ${digest}.`);
  try {
    if (sealed.size % mebibyte !== 0)
      throw invalid(`Azure takes disks of whole MiB, not of ${sealed.size} bytes.`);
    const name = uploadName(digest, location);
    return await context.inTurn(name, () => upload(context, sealed, { name, digest, location }, options));
  } finally {
    await sealed.close();
  }
}

export function uploadName(digest: string, location: string): string {
  const hash = createHash('sha256').update(`${digest} ${location}`).digest('hex');
  return `imago-upload-${hash.slice(0, 24)}`;
}

async function upload(
  { arm, transport }: AzureContext,
  sealed: SealedDisk,
  { name, digest, location }: { readonly name: string; readonly digest: string; readonly location: string },
  { signal, onProgress }: CallOptions,
): Promise<{ readonly id: string }> {
  const address = at('disks', name);
  const found = await arm.get<Disk>(address, signal);
  if (found?.tags?.[completeKey] === 'true') return { id: found.id };
  if (found === undefined) {
    const body: Body<WireDisk> = {
      location,
      tags: { [made.key]: made.value, 'imago-disk': digest },
      sku: { name: 'Standard_LRS' },
      properties: {
        osType: 'Linux',
        hyperVGeneration: 'V2',
        creationData: { createOption: 'Upload', uploadSizeBytes: sealed.size + vhdSector },
      },
    };
    await arm.finish(await arm.put(address, body, signal), signal);
  }
  const grant = { access: 'Write', durationInSeconds: grantSeconds };
  const access = await arm.finish(
    await arm.post<{ readonly accessSAS?: string }>(actionOf(address, 'beginGetAccess'), grant, signal),
    signal,
  );
  if (access?.accessSAS === undefined) {
    throw new ImagoError('provider-failed', `Azure granted no access to the disk ${name}.`);
  }
  await sendPages(openPageBlob(transport, access.accessSAS, signal), sealed, digest, onProgress);
  await arm.finish(await arm.post(actionOf(address, 'endGetAccess'), undefined, signal), signal);
  const tags = { [made.key]: made.value, 'imago-disk': digest, [completeKey]: 'true' };
  await arm.finish(await arm.patch(address, { tags }, signal), signal);
  return { id: arm.idOf(address) };
}

async function sendPages(
  blob: PageBlob,
  disk: SealedDisk,
  digest: string,
  onProgress: CallOptions['onProgress'],
): Promise<void> {
  const before = await blob.pages();
  const windows = [...windowsOf(disk)];
  const total = windows.reduce((sum, { length }) => sum + length, 0);
  const written: Extent[] = [];
  let done = 0;
  await mapLimit(windows, parallel, async ({ offset, length }) => {
    const bytes = await readBytes(disk, offset, length);
    for (const run of runsOf(bytes)) {
      const start = offset + run.offset;
      written.push({ offset: start, length: run.length });
      if (holds(before, start, run.length)) continue;
      await blob.write(start, bytes.subarray(run.offset, run.offset + run.length));
    }
    done += length;
    onProgress?.(
      done,
      total,
      `uploading ${Math.round(done / mebibyte)} of ${Math.round(total / mebibyte)} MiB`,
    );
  });
  await blob.write(disk.size, encodeVhdFooter('fixed', disk.size, identityOf(digest)));
  const after = await blob.pages();
  const lost = written.find(({ offset, length }) => !holds(after, offset, length));
  if (lost === undefined) return;
  throw new ImagoError(
    'provider-failed',
    `Azure does not have the page at byte ${lost.offset} that it accepted.`,
  );
}

/** Parts of the disk that can hold data, none larger than one request. */
function* windowsOf({ extents, size }: SealedDisk): Generator<Extent> {
  let next = 0;
  for (const { offset, length } of extents) {
    const end = Math.min(size, Math.ceil((offset + length) / vhdSector) * vhdSector);
    for (let start = Math.max(next, Math.floor(offset / vhdSector) * vhdSector); start < end; start = next) {
      next = Math.min(end, start + windowBytes);
      yield { offset: start, length: next - start };
    }
  }
}

/** The pieces that are not zero, joined. */
function* runsOf(bytes: Buffer): Generator<Extent> {
  let start: number | undefined;
  for (let offset = 0; offset < bytes.length; offset += pieceBytes) {
    const zero = isZero(bytes.subarray(offset, offset + pieceBytes));
    if (zero && start !== undefined) yield { offset: start, length: offset - start };
    if (zero) start = undefined;
    else start ??= offset;
  }
  if (start !== undefined) yield { offset: start, length: bytes.length - start };
}

/** The same disk always has the same footer. */
function identityOf(digest: string) {
  const hex = createHash('sha256').update(digest).digest('hex');
  const uuid = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, 32),
  ].join('-');
  return { timestamp: 946_684_800, uuid };
}

/** Deletes uploads that no version needs: complete or not, after a day. */
export async function sweepUploads(
  { arm, clock, uploads }: AzureContext,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, tags, properties } of await arm.list<Disk>(at('disks'), signal)) {
    if (tags?.[made.key] !== made.value || uploads.has(name)) continue;
    const age = clock.now() - Date.parse(properties.timeCreated ?? '');
    if (!(age > leftoverMs)) continue;
    await arm.post(actionOf(at('disks', name), 'endGetAccess'), undefined, signal).catch(() => undefined);
    await arm.delete(at('disks', name), signal);
  }
}

/** An uploaded disk that is held is not deleted. Releasing returns how many still hold it. */
export function holdUpload({ uploads }: AzureContext, name: string): () => number {
  uploads.set(name, (uploads.get(name) ?? 0) + 1);
  return () => {
    const left = (uploads.get(name) ?? 1) - 1;
    if (left > 0) uploads.set(name, left);
    else uploads.delete(name);
    return left;
  };
}

/** Deletes the disk when the version has the bytes. A version that failed keeps it for another try. */
export async function dropUpload(
  { arm, clock }: AzureContext,
  name: string,
  { operation }: Started<unknown>,
  release: () => number,
  signal: AbortSignal,
): Promise<void> {
  let isDone = false;
  try {
    while (operation !== undefined && (await arm.poll(operation, signal)).state === 'running') {
      await clock.sleep(dropCheckMs, signal);
    }
    isDone = true;
  } finally {
    if (release() === 0 && isDone) await arm.delete(at('disks', name), signal);
  }
}
