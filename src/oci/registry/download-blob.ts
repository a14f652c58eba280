// Downloads one blob from a repository into the store. What arrived stays if the connection is lost, and the next try
// resumes there, even in a later process; a blob is only added once its digest is right.
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfAborted } from '../../async/abort.ts';
import { withRetry } from '../../async/retry.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { fileSize, nameFileError } from '../../host/files/durable-files.ts';
import type { StoreContext } from '../layout/context.ts';
import { type Digest, hashFile, hexOf } from '../layout/digest.ts';
import type { StoreHold } from '../layout/owner.ts';
import type { RegistryClient } from './client.ts';

export interface BlobPlace {
  readonly client: RegistryClient;
  readonly repository: string;
}

/** Downloads the blob and pins it. Two who want the same blob share one download; one that is there costs nothing. */
export async function downloadBlob(
  store: StoreContext,
  source: BlobPlace,
  blob: { readonly digest: Digest; readonly size: number },
  hold: StoreHold,
  signal: AbortSignal | undefined,
): Promise<void> {
  await store.owner.inTurn(`pull ${blob.digest}`, async () => {
    throwIfAborted(signal);
    const path = join(store.paths.partial, hexOf(blob.digest));
    if ((await hashFile(store.blobs.path(blob.digest))) !== blob.digest) {
      await withRetry(source.client.retry, signal, () => download(source, blob, path, signal));
      await store.blobs.adopt(path, blob.digest, blob.size, hold);
      return;
    }
    await store.owner.exclusive(async () => hold.pin([blob.digest]));
  });
}

/** One try to complete the file; it keeps what it got for the next, unless that turned out to be wrong. */
async function download(
  { client, repository }: BlobPlace,
  blob: { readonly digest: Digest; readonly size: number },
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const there = (await fileSize(path)) ?? 0;
  const from = there < blob.size ? there : 0;
  if (there !== blob.size) {
    const response = await client.openBlob(repository, blob.digest, from, signal);
    if (response === undefined) {
      throw new ImagoError(
        'registry-not-found',
        `${client.registry}/${repository} has no blob ${blob.digest}`,
      );
    }
    const at = response.status === 206 ? from : 0;
    await receive(response.body, path, at, blob.size, signal);
  }
  if ((await hashFile(path)) === blob.digest) return;
  const size = await fileSize(path);
  if (size !== undefined && size < blob.size) {
    throw new ImagoError(
      'registry-failed',
      `${client.registry} sent ${size} of ${blob.size} bytes of ${blob.digest}`,
    );
  }
  await rm(path, { force: true });
  throw new ImagoError(
    'registry-corrupt',
    `${client.registry} sent other bytes than those of ${blob.digest}`,
  );
}

async function receive(
  body: AsyncIterable<Buffer> & { destroy(): void },
  path: string,
  from: number,
  size: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let handle: FileHandle | undefined;
  let at = from;
  try {
    handle = await open(path, from === 0 ? 'w' : 'r+');
    for await (const part of body) {
      throwIfAborted(signal);
      if (at + part.length > size) {
        await handle.truncate(0);
        throw new ImagoError('registry-corrupt', `more than the blob's ${size} bytes arrived`);
      }
      await handle.write(part, 0, part.length, at);
      at += part.length;
    }
    await handle.sync();
  } catch (error) {
    body.destroy();
    throwIfAborted(signal);
    const known = nameFileError(error, 'writing to the store');
    if (known instanceof ImagoError) throw known;
    throw new ImagoError('registry-failed', 'the connection was lost in the middle of a blob', {
      cause: error,
    });
  } finally {
    await handle?.close();
  }
}
