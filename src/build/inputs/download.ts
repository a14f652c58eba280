// Fetches one file over HTTP into the cache: interrupted downloads resume, content is checked, and size and time are
// limited. Concurrent requests for the same file share one download.
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withRetry } from '../../async/retry.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { nameFileError } from '../../host/files/durable-files.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import { type AddressGuard, ownerGuard } from '../../host/network/address-guard.ts';
import { type OpenedAddress, openAddress } from '../../host/network/open-address.ts';
import { hashFile, hexOf } from '../../oci/layout/digest.ts';
import { type ContentFolder, mismatch, type StoredInput } from '../content/content-folder.ts';

export interface DownloadRequest {
  readonly url: string;
  /** What errors and logs call it: not the address of a private input. */
  readonly label: string;
  readonly sha256?: string | undefined;
  readonly sizeBytes?: number | undefined;
  /** What it may have, where that is less than the rules allow. */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes so far, and all of them where that is known. */
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
}

export interface DownloadRules {
  /** A connection on which nothing moves for so long counts as lost. */
  readonly idleMs: number;
  /** Slower than this over a minute is given up. */
  readonly leastBytesPerSecond: number;
  /** What an input of unknown size may have. */
  readonly maxBytes: number;
  readonly tries: number;
  readonly pauseMs: number;
}

export const defaultDownloadRules: DownloadRules = {
  idleMs: 30_000,
  leastBytesPerSecond: 1024,
  maxBytes: 16 * 1024 ** 3,
  tries: 4,
  pauseMs: 500,
};

type GuardedRules = DownloadRules & { readonly guard: AddressGuard };

export interface Downloader {
  /** The input, from the store when it is there. Throws `download-failed`, `input-missing` or `input-mismatch`. */
  fetch(request: DownloadRequest): Promise<StoredInput>;
}

export function createDownloader(
  cacheFolder: string,
  store: ContentFolder,
  rules: DownloadRules = defaultDownloadRules,
  guard: AddressGuard = ownerGuard,
): Downloader {
  const partials = join(cacheFolder, 'partial');
  return {
    async fetch(request) {
      const known = request.sha256 === undefined ? undefined : await store.find(request.sha256);
      if (known !== undefined) return known;
      await mkdir(partials, { recursive: true });
      const key = createHash('sha256')
        .update(JSON.stringify([request.sha256 ?? request.url]))
        .digest('hex')
        .slice(0, 32);
      const partial = join(partials, key);
      const wait = { signal: request.signal, timeoutMs: Number.POSITIVE_INFINITY };
      return withFileLock(`${partial}.lock`, wait, async () => {
        const meanwhile = request.sha256 === undefined ? undefined : await store.find(request.sha256);
        return meanwhile ?? fetchWhole(request, partial, store, { ...rules, guard });
      });
    },
  };
}

async function fetchWhole(
  request: DownloadRequest,
  partial: string,
  store: ContentFolder,
  rules: GuardedRules,
): Promise<StoredInput> {
  const policy = { attempts: rules.tries, firstDelayMs: rules.pauseMs, longestDelayMs: rules.pauseMs * 8 };
  try {
    return await withRetry(policy, request.signal, async () => {
      await fetchOnce(request, partial, rules);
      const sha256 = hexOf((await hashFile(partial)) ?? 'sha256:');
      const { size } = await stat(partial);
      if (request.sha256 !== undefined && request.sha256 !== sha256) {
        await forget(partial);
        throw mismatch(request.label, request.sha256, sha256);
      }
      await rm(`${partial}.json`, { force: true });
      return store.adopt(partial, sha256, size);
    });
  } catch (error) {
    if (error instanceof ImagoError && error.details?.tooLarge === true) await forget(partial);
    throw nameFileError(error);
  }
}

/** Resumes at the end of the partial file, if the server supports it and still has the same file. */
async function fetchOnce(request: DownloadRequest, partial: string, rules: GuardedRules): Promise<void> {
  const begun = await stat(partial).catch(() => undefined);
  const tag = await readFile(`${partial}.json`, 'utf8').catch(() => undefined);
  const from = begun !== undefined && (tag !== undefined || request.sha256 !== undefined) ? begun.size : 0;
  const patience = new Patience(request.signal, rules);
  try {
    const response = await open200(request, from, tag, patience, rules.guard);
    const offset = response.status === 206 ? from : 0;
    const { etag } = response.headers;
    if (etag !== undefined && !etag.startsWith('W/')) await writeFile(`${partial}.json`, etag);
    else await rm(`${partial}.json`, { force: true });
    const length = Number(response.headers['content-length'] ?? Number.NaN);
    const total = request.sizeBytes ?? (Number.isSafeInteger(length) ? offset + length : undefined);
    const most = mostBytes(request, rules);
    if (total !== undefined && total > most) throw tooMuch(request, most);
    const file = await open(partial, offset > 0 ? 'r+' : 'w', 0o644);
    try {
      await receive(response, file, offset, total, request, patience, rules);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw patience.explain(error, request.label);
  } finally {
    patience.end();
  }
}

async function open200(
  request: DownloadRequest,
  from: number,
  tag: string | undefined,
  patience: Patience,
  guard: AddressGuard,
): Promise<OpenedAddress> {
  const response = await openAddress(request.url, {
    guard,
    headers: {
      'accept-encoding': 'identity',
      ...(from > 0 && { range: `bytes=${from}-` }),
      ...(from > 0 && tag !== undefined && { 'if-range': tag }),
    },
    signal: patience.signal,
  });
  const range = /^bytes (\d+)-/.exec(response.headers['content-range'] ?? '')?.[1];
  const fits = response.status === 200 || (response.status === 206 && Number(range) === from);
  if (fits) return response;
  response.body.destroy();
  if (response.status === 416) return open200(request, 0, undefined, patience, guard);
  throw refusal(request, response.status);
}

function refusal({ label }: DownloadRequest, status: number): ImagoError {
  if (status === 404 || status === 410) {
    return new ImagoError('input-missing', `${label} is no longer at its address (HTTP ${status}).`, {
      details: { status },
    });
  }
  return new ImagoError('download-failed', `${label} could not be fetched: the server answered ${status}.`, {
    retryable: status >= 500 || status === 408 || status === 429,
    details: { status },
  });
}

async function receive(
  response: OpenedAddress,
  file: FileHandle,
  offset: number,
  total: number | undefined,
  request: DownloadRequest,
  patience: Patience,
  rules: DownloadRules,
): Promise<void> {
  const limit = total ?? mostBytes(request, rules);
  let position = offset;
  await file.truncate(offset);
  for await (const part of response.body as AsyncIterable<Buffer>) {
    position += part.length;
    if (position > limit) {
      if (request.sizeBytes === undefined && total === undefined) throw tooMuch(request, limit);
      await file.truncate(0);
      throw new ImagoError('input-mismatch', `${request.label} has more than its ${limit} bytes.`);
    }
    await file.write(part, 0, part.length, position - part.length);
    patience.moved(part.length);
    request.onProgress?.(position, total);
  }
  if (total !== undefined && position < total) {
    throw new ImagoError(
      'download-failed',
      `${request.label} was interrupted after ${position} of ${total} bytes.`,
    );
  }
  await file.datasync();
}

function mostBytes({ maxBytes }: DownloadRequest, rules: DownloadRules): number {
  return Math.min(maxBytes ?? rules.maxBytes, rules.maxBytes);
}

function tooMuch({ label }: DownloadRequest, limit: number): ImagoError {
  return new ImagoError(
    'input-mismatch',
    `${label} is larger than the ${formatBytes(limit)} that are allowed.`,
    {
      hint: 'Look at what its address answers. Something so large can come as a file beside the recipe.',
      details: { tooLarge: true },
    },
  );
}

async function forget(partial: string): Promise<void> {
  await rm(partial, { force: true });
  await rm(`${partial}.json`, { force: true });
}

/** Aborts a download that stalls, is too slow, or is cancelled. */
class Patience {
  readonly signal: AbortSignal;
  readonly #control = new AbortController();
  readonly #rules: DownloadRules;
  #idle: NodeJS.Timeout | undefined;
  readonly #pace: NodeJS.Timeout;
  #recent = 0;
  #why: string | undefined;

  constructor(outer: AbortSignal | undefined, rules: DownloadRules) {
    this.#rules = rules;
    this.signal = outer === undefined ? this.#control.signal : AbortSignal.any([outer, this.#control.signal]);
    this.#wait();
    this.#pace = setInterval(() => {
      if (this.#recent < rules.leastBytesPerSecond * 60) this.#stop('it came too slowly');
      this.#recent = 0;
    }, 60_000);
    this.#pace.unref();
  }

  moved(bytes: number): void {
    this.#recent += bytes;
    this.#wait();
  }

  end(): void {
    clearTimeout(this.#idle);
    clearInterval(this.#pace);
  }

  explain(error: unknown, label: string): unknown {
    if (error instanceof ImagoError) return error;
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return nameFileError(error);
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = this.#why ?? (cause instanceof Error ? cause.message : String(cause));
    return new ImagoError('download-failed', `${label} could not be fetched: ${why}.`, { cause: error });
  }

  #wait(): void {
    clearTimeout(this.#idle);
    const { idleMs } = this.#rules;
    this.#idle = setTimeout(() => this.#stop(`nothing came for ${Math.round(idleMs / 1000)} s`), idleMs);
  }

  #stop(why: string): void {
    this.#why = why;
    this.#control.abort(new Error(why));
  }
}
