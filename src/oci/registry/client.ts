// Talks to one registry in the words of the OCI Distribution specification. Every call is tried again when
// that can help; absence is `undefined`; the caller checks responses against their digest.

import { defaultRetry, type RetryPolicy, retryAfterMs, withRetry } from '../../async/retry.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type AddressGuard, ownerGuard } from '../../host/network/address-guard.ts';
import { type Digest, digestOf, isDigest } from '../layout/digest.ts';
import { type Descriptor, maxManifestSize, parseIndex } from '../layout/manifest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { type Credentials, parseChallenge, RegistryAuth } from './auth.ts';
import {
  discard,
  type HttpBody,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  httpClient,
  readBody,
} from './http.ts';
import { isLoopback } from './reference.ts';

export interface RegistryOptions {
  /** Host, with a port if need be. */
  readonly registry: string;
  readonly credentials?: Credentials | undefined;
  /** Without TLS. Only for this machine itself unless given. */
  readonly plainHttp?: boolean | undefined;
  /** The addresses that the registry, its redirects, and its sign-in can have. */
  readonly guard?: AddressGuard | undefined;
  readonly retry?: RetryPolicy | undefined;
  /** A connection on which nothing moves for so long counts as lost. 60 s unless given. */
  readonly idleTimeoutMs?: number | undefined;
  /** Connections at the same time. 4 unless given. */
  readonly connections?: number | undefined;
}

export interface RegistryCall {
  readonly method: HttpRequest['method'];
  /** Under the repository (`blobs/sha256:…`), or an address that the registry gave. */
  readonly to: string | URL;
  readonly repository: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A second repository that the call reads from: a mount. */
  readonly readsFrom?: string | undefined;
}

export interface FetchedManifest {
  readonly digest: Digest;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

interface ReferrersPage {
  readonly manifests: readonly Descriptor[];
  readonly next: URL | undefined;
}

const maxRedirects = 5;
/** What one manifest can have attached to it, and what a pull takes along altogether. */
export const maxReferrers = 500;
const maxPages = 100;
const manifestTypes = [
  mediaTypes.manifest,
  mediaTypes.index,
  mediaTypes.dockerManifest,
  mediaTypes.dockerList,
].join(', ');

export class RegistryClient {
  readonly registry: string;
  readonly retry: RetryPolicy;
  readonly connections: number;
  readonly #http: HttpClient;
  readonly #auth: RegistryAuth;
  readonly #origin: string;

  constructor(options: RegistryOptions) {
    const plainHttp = options.plainHttp ?? isLoopback(options.registry);
    this.registry = options.registry;
    this.retry = options.retry ?? defaultRetry;
    this.connections = options.connections ?? 4;
    this.#origin = `${plainHttp ? 'http' : 'https'}://${options.registry}`;
    this.#http = httpClient({
      connections: this.connections,
      idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
      guard: options.guard ?? ownerGuard,
    });
    this.#auth = new RegistryAuth(this.#http, options.credentials, plainHttp);
  }

  /** Ends idle connections. The client can still be used. */
  close(): void {
    this.#http.close();
  }

  /** The size of a blob that the registry has, else `undefined`. */
  async blobSize(repository: string, digest: Digest, signal?: AbortSignal): Promise<number | undefined> {
    return this.#try(signal, async () => {
      const response = await this.call({ method: 'HEAD', to: `blobs/${digest}`, repository, signal });
      await discard(response);
      if (response.status === 404) return undefined;
      if (response.status !== 200) throw await this.failure(response, `asking for blob ${digest}`);
      const size = Number(response.headers['content-length']);
      return Number.isSafeInteger(size) ? size : undefined;
    });
  }

  /** One try to read a blob from a position on. 206 when the registry can do that, 200 with all of it if not. */
  async openBlob(
    repository: string,
    digest: Digest,
    from: number,
    signal?: AbortSignal,
  ): Promise<HttpResponse | undefined> {
    const headers: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
    const response = await this.call({ method: 'GET', to: `blobs/${digest}`, repository, headers, signal });
    if (response.status === 404) {
      await discard(response);
      return undefined;
    }
    if (response.status === 200 || response.status === 206) return response;
    throw await this.failure(response, `reading blob ${digest}`);
  }

  /** A manifest by tag or digest, checked if by digest; `undefined` when there is none. */
  async manifest(
    repository: string,
    reference: string,
    signal?: AbortSignal,
  ): Promise<FetchedManifest | undefined> {
    return this.#try(signal, async () => {
      const headers = { accept: manifestTypes };
      const response = await this.call({
        method: 'GET',
        to: `manifests/${reference}`,
        repository,
        headers,
        signal,
      });
      if (response.status === 404) {
        await discard(response);
        return undefined;
      }
      if (response.status !== 200) throw await this.failure(response, `reading manifest ${reference}`);
      const bytes = await readBody(response, maxManifestSize);
      const digest = digestOf(bytes);
      const said = response.headers['docker-content-digest'];
      const expected = isDigest(reference) ? reference : said;
      if (typeof expected === 'string' && expected !== digest) {
        throw new ImagoError(
          'registry-corrupt',
          `${this.registry} sent ${digest} when asked for manifest ${expected}`,
        );
      }
      const mediaType = response.headers['content-type']?.split(';')[0]?.trim() ?? mediaTypes.manifest;
      return { digest, mediaType, bytes };
    });
  }

  /** Stores a manifest under its digest or a tag. Says whether the registry took note of its subject. */
  async putManifest(
    repository: string,
    reference: string,
    manifest: { readonly bytes: Uint8Array; readonly mediaType: string },
    signal?: AbortSignal,
  ): Promise<{ readonly knowsSubject: boolean }> {
    return this.#try(signal, async () => {
      const response = await this.call({
        method: 'PUT',
        to: `manifests/${reference}`,
        repository,
        headers: { 'content-type': manifest.mediaType },
        body: { length: manifest.bytes.length, open: () => manifest.bytes },
        signal,
      });
      if (response.status !== 201) throw await this.failure(response, `storing manifest ${reference}`);
      await discard(response);
      return { knowsSubject: response.headers['oci-subject'] !== undefined };
    });
  }

  /** What the referrers API lists for a manifest, all pages of it; `undefined` when the registry has no such API. */
  async referrers(
    repository: string,
    digest: Digest,
    signal?: AbortSignal,
  ): Promise<readonly Descriptor[] | undefined> {
    const found: Descriptor[] = [];
    let to: string | URL | undefined = `referrers/${digest}`;
    for (let page = 0; to !== undefined && page < maxPages; page += 1) {
      const answer: ReferrersPage | undefined = await this.#referrersPage(repository, to, signal);
      if (answer === undefined) return undefined;
      found.push(...answer.manifests);
      if (found.length > maxReferrers) throw tooManyReferrers(`${this.registry}/${repository}`);
      to = answer.next;
    }
    return found;
  }

  #referrersPage(
    repository: string,
    to: string | URL,
    signal: AbortSignal | undefined,
  ): Promise<ReferrersPage | undefined> {
    return this.#try(signal, async () => {
      const response = await this.call({ method: 'GET', to, repository, signal });
      const isIndex = response.headers['content-type']?.startsWith(mediaTypes.index) === true;
      if (response.status === 200 && isIndex) {
        const { manifests } = parseIndex(await readBody(response, maxManifestSize), 'a list of referrers');
        const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(String(response.headers.link ?? ''))?.[1];
        const base = this.url(repository, to).href;
        return {
          manifests,
          next: next !== undefined && URL.canParse(next, base) ? new URL(next, base) : undefined,
        };
      }
      if (response.status >= 500 || response.status === 429) {
        throw await this.failure(response, 'listing referrers');
      }
      await discard(response);
      return undefined;
    });
  }

  /** One exchange: signs in when asked to, and follows redirects without taking the sign-in elsewhere. */
  async call(request: RegistryCall): Promise<HttpResponse> {
    const scope = scopeOf(request);
    let url = this.url(request.repository, request.to);
    const sent = this.#auth.header(scope);
    let response = await this.#send(request, url, scope);
    if (response.status === 401) {
      const challenge = parseChallenge(response.headers['www-authenticate']);
      await discard(response);
      if (!(await this.#auth.answer(challenge, scope, sent, request.signal))) {
        throw new ImagoError('registry-denied', `${this.registry} does not let this user in`);
      }
      response = await this.#send(request, url, scope);
    }
    const mayFollow = request.method === 'GET' || request.method === 'HEAD';
    for (let hops = 0; mayFollow && isRedirect(response); hops += 1) {
      const { location } = response.headers;
      await discard(response);
      if (hops >= maxRedirects || location === undefined || !URL.canParse(location, url.href)) {
        throw new ImagoError('registry-failed', `${this.registry} redirects without end`, {
          retryable: false,
        });
      }
      url = new URL(location, url);
      response = await this.#send(request, url, scope);
    }
    return response;
  }

  /** The address of something in a repository, or the absolute form of one that the registry gave. */
  url(repository: string, to: string | URL): URL {
    if (to instanceof URL) return to;
    return new URL(`/v2/${repository}/${to}`, this.#origin);
  }

  /** What an unexpected answer means, in the words of the registry as far as it has any. */
  async failure(response: HttpResponse, doing: string): Promise<ImagoError> {
    const { status } = response;
    const said = errorText(await readBody(response, 64 * 1024).catch(() => Buffer.alloc(0)));
    const message = `${this.registry} answered ${status} when ${doing}${said === '' ? '' : `: ${said}`}`;
    if (status === 401 || status === 403) return new ImagoError('registry-denied', message);
    if (status === 404) return new ImagoError('registry-not-found', message);
    const asked = retryAfterMs(response.headers['retry-after'], Date.now());
    return new ImagoError('registry-failed', message, {
      retryable: status >= 500 || status === 429 || status === 408,
      details: { status, ...(asked === undefined ? {} : { retryAfterMs: asked }) },
    });
  }

  async #send(request: RegistryCall, url: URL, scope: string): Promise<HttpResponse> {
    const authorization = url.origin === this.#origin ? this.#auth.header(scope) : undefined;
    return this.#http.send({
      method: request.method,
      url,
      headers: { ...request.headers, ...(authorization === undefined ? {} : { authorization }) },
      body: request.body,
      signal: request.signal,
    });
  }

  #try<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return withRetry(this.retry, signal, work);
  }
}

export function tooManyReferrers(where: string): ImagoError {
  return new ImagoError(
    'registry-failed',
    `${where} has more than ${maxReferrers} manifests attached to one.`,
    {
      hint: 'Remove attachments that no one needs, or pull from another registry.',
      retryable: false,
    },
  );
}

function scopeOf(request: RegistryCall): string {
  const writes = request.method !== 'GET' && request.method !== 'HEAD';
  const own = `repository:${request.repository}:${writes ? 'pull,push' : 'pull'}`;
  return request.readsFrom === undefined ? own : `${own} repository:${request.readsFrom}:pull`;
}

function isRedirect(response: HttpResponse): boolean {
  return [301, 302, 303, 307, 308].includes(response.status);
}

function errorText(body: Buffer): string {
  try {
    const parsed = JSON.parse(body.toString('utf8')) as { errors?: { code?: unknown; message?: unknown }[] };
    const first = parsed.errors?.[0];
    return [first?.code, first?.message]
      .filter((part) => typeof part === 'string')
      .join(' ')
      .slice(0, 300);
  } catch {
    return '';
  }
}
