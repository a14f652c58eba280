// Brings one blob into a repository. Mounted from another repository where that works; in one request if
// small; else streamed, and after a lost connection continued from where the registry says it stopped.
import { Readable } from 'node:stream';
import { withRetry } from '../../async/retry.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Digest } from '../layout/digest.ts';
import type { RegistryClient } from './client.ts';
import { discard, type HttpResponse } from './http.ts';

export interface BlobToUpload {
  readonly digest: Digest;
  readonly size: number;
  /** The blob's bytes from a position up to, not including, another. */
  open(from: number, to: number): Readable;
}

export interface UploadOptions {
  /** Repositories of the same registry that may have the blob. */
  readonly mountFrom?: readonly string[];
  /** Blobs up to this are sent in one request. 1 MiB unless given. */
  readonly monolithicBytes?: number;
  /** The largest part that is sent in one request. All that is left unless given, or the registry refuses it. */
  readonly partBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface UploadedBlob {
  readonly how: 'present' | 'mounted' | 'sent';
  /** Bytes that were sent, also those sent twice. */
  readonly bytesSent: number;
}

interface Session {
  readonly url: URL;
  readonly offset: number;
}

const smallerPart = 4 * 1024 * 1024;

/** Uploads the blob; one that is there already costs nothing. */
export async function uploadBlob(
  client: RegistryClient,
  repository: string,
  blob: BlobToUpload,
  options: UploadOptions = {},
): Promise<UploadedBlob> {
  const upload = new Upload(client, repository, blob, options);
  for (const from of options.mountFrom ?? []) {
    if (from !== repository && (await upload.mount(from))) return { how: 'mounted', bytesSent: 0 };
  }
  return withRetry(client.retry, options.signal, (attempt) => upload.run(attempt));
}

class Upload {
  readonly #client: RegistryClient;
  readonly #repository: string;
  readonly #blob: BlobToUpload;
  readonly #signal: AbortSignal | undefined;
  readonly #monolithicBytes: number;
  #partBytes: number;
  #session: Session | undefined;
  #bytesSent = 0;

  constructor(client: RegistryClient, repository: string, blob: BlobToUpload, options: UploadOptions) {
    this.#client = client;
    this.#repository = repository;
    this.#blob = blob;
    this.#signal = options.signal;
    this.#monolithicBytes = options.monolithicBytes ?? 1024 * 1024;
    this.#partBytes = options.partBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Tries to have the registry take the blob over from another repository; never an error if it will not. */
  async mount(from: string): Promise<boolean> {
    const query = new URLSearchParams({ mount: this.#blob.digest, from });
    const response = await this.#post(`blobs/uploads/?${query}`, from).catch((error: unknown) => {
      if (error instanceof ImagoError && error.kind !== 'cancelled') return undefined;
      throw error;
    });
    if (response?.status === 201) return true;
    if (response?.status === 202) this.#session = { url: this.#location(response), offset: 0 };
    return false;
  }

  async run(attempt: number): Promise<UploadedBlob> {
    if (attempt > 1) {
      const { digest, size } = this.#blob;
      if ((await this.#client.blobSize(this.#repository, digest, this.#signal)) === size) {
        return { how: this.#bytesSent > 0 ? 'sent' : 'present', bytesSent: this.#bytesSent };
      }
      this.#session = await this.#resume();
    }
    this.#session ??= await this.#start();
    if (this.#blob.size > this.#monolithicBytes) {
      while (this.#session.offset < this.#blob.size) this.#session = await this.#sendPart(this.#session);
    }
    await this.#finish(this.#session);
    return { how: 'sent', bytesSent: this.#bytesSent };
  }

  async #start(): Promise<Session> {
    const response = await this.#post('blobs/uploads/', undefined);
    if (response.status !== 202) throw await this.#client.failure(response, 'starting an upload');
    return { url: this.#location(response), offset: 0 };
  }

  async #post(to: string, readsFrom: string | undefined): Promise<HttpResponse> {
    const response = await this.#client.call({
      method: 'POST',
      to: this.#client.url(this.#repository, to),
      repository: this.#repository,
      readsFrom,
      signal: this.#signal,
    });
    if (response.status === 201 || response.status === 202) await discard(response);
    return response;
  }

  async #sendPart(session: Session): Promise<Session> {
    const end = Math.min(this.#blob.size, session.offset + this.#partBytes);
    const response = await this.#send('PATCH', session.url, session.offset, end, {
      'content-range': `${session.offset}-${end - 1}`,
    });
    if (response.status === 413 && this.#partBytes > smallerPart) {
      await discard(response);
      this.#partBytes = smallerPart;
      return { url: session.url, offset: (await this.#resume())?.offset ?? session.offset };
    }
    if (response.status === 202) {
      await discard(response);
      return { url: this.#location(response), offset: end };
    }
    const failure = await this.#client.failure(response, `sending blob ${this.#blob.digest}`);
    if (response.status !== 416) throw failure;
    throw new ImagoError('registry-failed', failure.message);
  }

  async #finish(session: Session): Promise<void> {
    const url = new URL(session.url);
    url.searchParams.set('digest', this.#blob.digest);
    const from = this.#blob.size > this.#monolithicBytes ? this.#blob.size : 0;
    const response = await this.#send('PUT', url, from, this.#blob.size, {});
    if (response.status === 201) {
      await discard(response);
      return;
    }
    this.#session = undefined;
    throw await this.#client.failure(response, `finishing blob ${this.#blob.digest}`);
  }

  async #send(
    method: 'PATCH' | 'PUT',
    url: URL,
    from: number,
    to: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<HttpResponse> {
    const count = (bytes: number) => {
      this.#bytesSent += bytes;
    };
    const open = () => Readable.from(counted(this.#blob.open(from, to), count));
    return this.#client.call({
      method,
      to: url,
      repository: this.#repository,
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body: from === to ? undefined : { length: to - from, open },
      signal: this.#signal,
    });
  }

  /** Returns the registry's offset of the upload, or `undefined` if it must start over. */
  async #resume(): Promise<Session | undefined> {
    const session = this.#session;
    if (session === undefined || this.#blob.size <= this.#monolithicBytes) return undefined;
    const response = await this.#client.call({
      method: 'GET',
      to: session.url,
      repository: this.#repository,
      signal: this.#signal,
    });
    await discard(response);
    const received = /^(?:bytes=)?0-(\d+)$/.exec(response.headers.range ?? '')?.[1];
    // "0-0" is one byte in the specification, and none at all in the most common registry.
    if (response.status !== 204 || received === undefined || received === '0') return undefined;
    const offset = Number(received) + 1;
    return offset > this.#blob.size ? undefined : { url: this.#location(response, session.url), offset };
  }

  #location(response: HttpResponse, otherwise?: URL): URL {
    const { location } = response.headers;
    const base = this.#client.url(this.#repository, '').href;
    if (location !== undefined && URL.canParse(location, base)) return new URL(location, base);
    if (otherwise !== undefined) return otherwise;
    throw new ImagoError('registry-failed', `${this.#client.registry} names no place to upload to`);
  }
}

async function* counted(source: Readable, count: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const part of source) {
    count(part.length);
    yield part;
  }
}
