// The storage service as far as page blobs need it. Accounts are the first part of the path.
import { createHash, randomUUID } from 'node:crypto';
import { BlobError, escapeXml, xml } from './blob-error.ts';
import type { Blob, Blobs } from './blobs.ts';
import { type BlobState, differences, pageBytes, pagesOf, type Range } from './page-blob.ts';

export interface BlobRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** Whether the caller has a token of this run. */
  readonly signedIn: boolean;
}

export interface BlobReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const largestWrite = 4 * 2 ** 20;
const largestBlob = 8 * 2 ** 40;

export async function answerBlob(blobs: Blobs, request: BlobRequest): Promise<BlobReply> {
  const headers = {
    'x-ms-request-id': randomUUID(),
    'x-ms-version': request.headers['x-ms-version'] ?? '2018-03-28',
  };
  try {
    const reply = await answer(blobs, request);
    return { ...reply, headers: { ...headers, ...reply.headers } };
  } catch (thrown) {
    if (!(thrown instanceof BlobError)) throw thrown;
    const { status, code, message } = thrown;
    const body = xml(`<Error><Code>${code}</Code><Message>${escapeXml(message)}</Message></Error>`);
    const type = { 'content-type': 'application/xml', 'x-ms-error-code': code };
    return { status, headers: { ...headers, ...type }, ...(request.method === 'HEAD' ? {} : { body }) };
  }
}

async function answer(blobs: Blobs, request: BlobRequest): Promise<BlobReply> {
  const { method, url } = request;
  const path = decodeURIComponent(url.pathname);
  const writes = method === 'PUT' || method === 'DELETE';
  if (!request.signedIn && !blobs.granted(path, url.searchParams.get('sig') ?? '', writes)) {
    throw new BlobError(403, 'AuthenticationFailed', 'Server failed to authenticate the request.');
  }
  if (url.searchParams.get('restype') === 'container') return answerContainer(blobs, request, path);
  const comp = url.searchParams.get('comp') ?? '';
  const live = blobs.live.get(path);
  if (live !== undefined && (method === 'GET' || method === 'HEAD')) return readLive(await live(), request);
  if (method === 'PUT' && comp === '') return create(blobs, request, path);
  const blob = blobs.get(path);
  if (blob === undefined) throw new BlobError(404, 'BlobNotFound', 'The specified blob does not exist.');
  checkCondition(blob, request);
  const at = url.searchParams.get('snapshot');
  const state = at === null ? blob.pages.state() : snapshotOf(blob, at);
  if (method === 'GET' && comp === 'pagelist') return listPages(blob, state, request);
  if (method === 'GET' || method === 'HEAD') return read(blobs, blob, state, request);
  if (comp !== 'lease') checkLease(blob, request);
  if (method === 'DELETE') {
    blobs.delete(path);
    return { status: 202, headers: {} };
  }
  const change = changes[comp];
  if (method === 'PUT' && change !== undefined) return change(blobs, blob, request);
  throw new BlobError(400, 'UnsupportedHttpVerb', `${method} with comp=${comp} is not part of the emulator.`);
}

type Change = (blobs: Blobs, blob: Blob, request: BlobRequest) => Promise<BlobReply>;

const changes: Readonly<Record<string, Change>> = {
  page: putPage,
  async snapshot(_, blob) {
    const name = new Date(Date.now() + blob.snapshots.size).toISOString().replace('Z', '0000Z');
    blob.snapshots.set(name, blob.pages.state());
    return { status: 201, headers: { ...tags(blob), 'x-ms-snapshot': name } };
  },
  async properties(_, blob, { headers }) {
    const size = headers['x-ms-blob-content-length'];
    if (size !== undefined) blob.pages.resize(checkSize(size));
    blob.etag++;
    return { status: 200, headers: { ...tags(blob), 'x-ms-blob-sequence-number': '0' } };
  },
  async metadata(_, blob) {
    blob.etag++;
    return { status: 200, headers: tags(blob) };
  },
  lease: async (_, blob, { headers }) => changeLease(blob, headers),
};

function answerContainer(blobs: Blobs, { method, url }: BlobRequest, path: string): BlobReply {
  if (method === 'PUT') return { status: 201, headers: { etag: '"0x1"' } };
  if (method === 'DELETE') {
    for (const inside of blobs.inside(path)) blobs.delete(inside);
    return { status: 202, headers: {} };
  }
  if (url.searchParams.get('comp') !== 'list') return { status: 200, headers: { etag: '"0x1"' } };
  const found = blobs.inside(path).map((name) => {
    const size = blobs.get(name)?.pages.state().size ?? 0;
    const about = `<Content-Length>${size}</Content-Length><BlobType>PageBlob</BlobType>`;
    return `<Blob><Name>${escapeXml(name.slice(path.length + 1))}</Name><Properties>${about}</Properties></Blob>`;
  });
  const body = xml(`<EnumerationResults><Blobs>${found.join('')}</Blobs><NextMarker /></EnumerationResults>`);
  return { status: 200, headers: { 'content-type': 'application/xml' }, body };
}

async function create(blobs: Blobs, request: BlobRequest, path: string): Promise<BlobReply> {
  const { headers } = request;
  const known = blobs.get(path);
  if (known !== undefined) {
    checkCondition(known, request);
    checkLease(known, request);
    if (headers['if-none-match'] === '*')
      throw new BlobError(409, 'BlobAlreadyExists', 'The blob already exists.');
  }
  const source = headers['x-ms-copy-source'];
  if (source !== undefined) {
    const blob = blobs.put(path, sourceOf(blobs, source));
    blob.copy = { id: randomUUID(), source };
    const copied = { 'x-ms-copy-id': blob.copy.id, 'x-ms-copy-status': 'success' };
    return { status: 202, headers: { ...tags(blob), ...copied } };
  }
  if (headers['x-ms-blob-type'] !== 'PageBlob') {
    throw new BlobError(400, 'InvalidHeaderValue', 'Only page blobs are part of the emulator.');
  }
  const blob = blobs.put(path, checkSize(headers['x-ms-blob-content-length'] ?? ''));
  return { status: 201, headers: { ...tags(blob), 'x-ms-request-server-encrypted': 'true' } };
}

function checkSize(text: string): number {
  const size = Number(text);
  if (text !== '' && Number.isInteger(size) && size >= 0 && size <= largestBlob && size % pageBytes === 0)
    return size;
  throw new BlobError(
    400,
    'InvalidHeaderValue',
    'The value for x-ms-blob-content-length must be a multiple of 512.',
  );
}

/** Returns the state of a blob of this emulator that an address names. */
function sourceOf(blobs: Blobs, address: string): BlobState {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const path = decodeURIComponent(url?.pathname ?? '');
  const blob = blobs.get(path);
  const allowed = blobs.granted(path, url?.searchParams.get('sig') ?? '', false) || !path.startsWith('/md-');
  if (blob === undefined || !allowed) {
    throw new BlobError(404, 'CannotVerifyCopySource', 'The specified blob does not exist.');
  }
  const at = url?.searchParams.get('snapshot') ?? null;
  return at === null ? blob.pages.state() : snapshotOf(blob, at);
}

function snapshotOf(blob: Blob, name: string): BlobState {
  const found = blob.snapshots.get(name);
  if (found === undefined) throw new BlobError(404, 'BlobNotFound', 'The specified snapshot does not exist.');
  return found;
}

async function putPage(blobs: Blobs, blob: Blob, { headers, body }: BlobRequest): Promise<BlobReply> {
  const range = readHeaderRange(headers);
  const { size } = blob.pages.state();
  if (range === undefined || range.start % pageBytes !== 0 || range.end % pageBytes !== 0) {
    throw new BlobError(400, 'InvalidHeaderValue', 'The range of a page write must be aligned to 512 bytes.');
  }
  if (range.end > size) throw new BlobError(416, 'InvalidPageRange', 'The page range is invalid.');
  if (headers['x-ms-page-write'] === 'clear') blob.pages.clear(range);
  else await blob.pages.write(range.start, await pageBody(blobs, range, headers, body));
  blob.etag++;
  const md5 = { 'content-md5': createHash('md5').update(body).digest('base64') };
  return {
    status: 201,
    headers: { ...tags(blob), ...md5, 'x-ms-blob-sequence-number': '0' },
  };
}

async function pageBody(
  blobs: Blobs,
  { start, end }: Range,
  headers: BlobRequest['headers'],
  body: Buffer,
): Promise<Buffer> {
  if (end - start > largestWrite) {
    throw new BlobError(
      413,
      'RequestBodyTooLarge',
      'The request body is too large and exceeds the maximum permissible limit.',
    );
  }
  const source = headers['x-ms-copy-source'];
  if (source !== undefined) {
    const from = readHeaderRange({ range: headers['x-ms-source-range'] });
    if (from === undefined || from.end - from.start !== end - start)
      throw new BlobError(400, 'InvalidHeaderValue', 'x-ms-source-range does not match the range.');
    return blobs.read(sourceOf(blobs, source), from);
  }
  if (body.length !== end - start) {
    throw new BlobError(400, 'InvalidHeaderValue', 'The body does not have the length of its range.');
  }
  const md5 = headers['content-md5'];
  if (md5 !== undefined && md5 !== createHash('md5').update(body).digest('base64')) {
    throw new BlobError(
      400,
      'Md5Mismatch',
      'The MD5 value specified in the request did not match with the MD5 value calculated by the server.',
    );
  }
  return body;
}

function listPages(blob: Blob, state: BlobState, { url, headers }: BlobRequest): BlobReply {
  const before = url.searchParams.get('prevsnapshot');
  const asked = readHeaderRange(headers) ?? { start: 0, end: state.size };
  const found = before === null ? undefined : differences(state, snapshotOf(blob, before));
  const pages = (found?.pages ?? pagesOf(state)).map((range) => ({ tag: 'PageRange', ...range }));
  const cleared = (found?.cleared ?? []).map((range) => ({ tag: 'ClearRange', ...range }));
  const items = [...pages, ...cleared]
    .filter(({ start, end }) => end > asked.start && start < asked.end)
    .sort((a, b) => a.start - b.start)
    .map(({ tag, start, end }) => `<${tag}><Start>${start}</Start><End>${end - 1}</End></${tag}>`);
  const length = { 'x-ms-blob-content-length': String(state.size) };
  return {
    status: 200,
    headers: { ...tags(blob), ...length, 'content-type': 'application/xml' },
    body: xml(`<PageList>${items.join('')}</PageList>`),
  };
}

async function read(blobs: Blobs, blob: Blob, state: BlobState, request: BlobRequest): Promise<BlobReply> {
  const asked = readHeaderRange(request.headers);
  const range = { start: asked?.start ?? 0, end: Math.min(asked?.end ?? state.size, state.size) };
  const about = {
    ...tags(blob),
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    'x-ms-blob-type': 'PageBlob',
    'x-ms-blob-sequence-number': '0',
    'x-ms-lease-status': blob.lease === undefined ? 'unlocked' : 'locked',
    'x-ms-lease-state': blob.lease === undefined ? 'available' : 'leased',
    ...(blob.copy === undefined
      ? {}
      : {
          ...{ 'x-ms-copy-id': blob.copy.id, 'x-ms-copy-status': 'success' },
          ...{ 'x-ms-copy-source': blob.copy.source, 'x-ms-copy-progress': `${state.size}/${state.size}` },
        }),
  };
  if (request.method === 'HEAD')
    return { status: 200, headers: { ...about, 'content-length': String(state.size) } };
  if (range.start >= range.end && state.size > 0)
    throw new BlobError(416, 'InvalidRange', 'The range specified is invalid for the current size.');
  if (range.end - range.start > 64 * 2 ** 20)
    throw new BlobError(
      400,
      'OutOfRangeInput',
      'The emulator sends at most 64 MiB at a time: ask for ranges.',
    );
  const body = await blobs.read(state, range);
  const length = { 'content-length': String(body.length) };
  const part =
    asked === undefined ? {} : { 'content-range': `bytes ${range.start}-${range.end - 1}/${state.size}` };
  return { status: asked === undefined ? 200 : 206, headers: { ...about, ...part, ...length }, body };
}

function readLive(all: Buffer, { method, headers }: BlobRequest): BlobReply {
  const { start = 0, end = all.length } = readHeaderRange(headers) ?? {};
  if (start >= all.length && start > 0)
    throw new BlobError(416, 'InvalidRange', 'The range specified is invalid for the current size.');
  const body = method === 'HEAD' ? all : all.subarray(start, end);
  const about = { 'content-type': 'application/octet-stream', 'x-ms-blob-type': 'AppendBlob' };
  const length = { 'content-length': String(body.length) };
  if (method === 'HEAD') return { status: 200, headers: { ...about, ...length } };
  if (body.length === all.length) return { status: 200, headers: { ...about, ...length }, body };
  const part = { 'content-range': `bytes ${start}-${start + body.length - 1}/${all.length}` };
  return { status: 206, headers: { ...about, ...length, ...part }, body };
}

function readHeaderRange(headers: BlobRequest['headers']): Range | undefined {
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(headers['x-ms-range'] ?? headers.range ?? '') ?? [];
  if (start === undefined) return undefined;
  return {
    start: Number(start),
    end: end === undefined || end === '' ? Number.MAX_SAFE_INTEGER : Number(end) + 1,
  };
}

function tags(blob: Blob): Readonly<Record<string, string>> {
  return { etag: etagOf(blob), 'last-modified': new Date().toUTCString() };
}

function etagOf({ etag }: Blob): string {
  return `"0x${etag.toString(16).toUpperCase().padStart(16, '0')}"`;
}

function checkCondition(blob: Blob, { headers }: BlobRequest): void {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted === '*' || wanted === etagOf(blob)) return;
  throw new BlobError(
    412,
    'ConditionNotMet',
    'The condition specified using HTTP conditional header(s) is not met.',
  );
}

function checkLease({ lease }: Blob, { headers }: BlobRequest): void {
  const given = headers['x-ms-lease-id'];
  if (lease === undefined || lease === given) return;
  throw given === undefined
    ? new BlobError(
        412,
        'LeaseIdMissing',
        'There is currently a lease on the blob and no lease ID was specified.',
      )
    : new BlobError(412, 'LeaseIdMismatchWithBlobOperation', 'The lease ID did not match.');
}

function changeLease(blob: Blob, headers: BlobRequest['headers']): BlobReply {
  const action = headers['x-ms-lease-action'];
  const given = headers['x-ms-lease-id'];
  if (action === 'acquire') {
    if (blob.lease !== undefined)
      throw new BlobError(409, 'LeaseAlreadyPresent', 'There is already a lease present.');
    blob.lease = headers['x-ms-proposed-lease-id'] ?? randomUUID();
    return { status: 201, headers: { ...tags(blob), 'x-ms-lease-id': blob.lease } };
  }
  if (action !== 'break' && blob.lease !== given)
    throw new BlobError(409, 'LeaseIdMismatchWithLeaseOperation', 'The lease ID did not match.');
  if (action === 'renew') return { status: 200, headers: { ...tags(blob), 'x-ms-lease-id': given ?? '' } };
  blob.lease = undefined;
  return action === 'break'
    ? { status: 202, headers: { ...tags(blob), 'x-ms-lease-time': '0' } }
    : { status: 200, headers: tags(blob) };
}
