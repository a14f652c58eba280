import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTurns } from '../../../async/keyed-mutex.ts';
import { decodeVhdFooter } from '../../../disk/vhd/footer.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { ArmClient } from '../arm/client.ts';
import type { HttpReply, HttpRequest } from '../arm/transport.ts';
import type { AzureContext, SealedDisk } from '../context.ts';
import { uploadDisk } from './upload.ts';

const mebibyte = 2 ** 20;
const digest = `sha256:${'a'.repeat(64)}`;
const options = { signal: new AbortController().signal, epoch: 1 };

/** A disk of 64 MiB with 8 MiB of data, some of it zero. */
function sparseDisk(): { readonly bytes: Buffer; readonly disk: SealedDisk } {
  const bytes = Buffer.alloc(64 * mebibyte);
  randomBytes(3 * mebibyte).copy(bytes, 0);
  randomBytes(4 * mebibyte).copy(bytes, 20 * mebibyte + 512);
  randomBytes(512).copy(bytes, bytes.length - 512);
  const extents = [
    { offset: 0, length: 4 * mebibyte },
    { offset: 20 * mebibyte + 512, length: 4 * mebibyte },
    { offset: bytes.length - 512, length: 512 },
  ];
  const disk: SealedDisk = {
    ...{ size: bytes.length, extents, close: async () => undefined },
    async read(position, target) {
      bytes.copy(target, 0, position, position + target.length);
      return target;
    },
  };
  return { bytes, disk };
}

/** Azure as far as an upload needs it. */
class FakeAzure {
  readonly content: Buffer;
  readonly written: { readonly offset: number; readonly length: number }[] = [];
  requests = 0;
  running = 0;
  most = 0;
  /** Requests for pages after which the connection is lost; then it works again. */
  loseAfter = Number.POSITIVE_INFINITY;
  /** Accepts pages and forgets them. */
  forgets = false;
  #disk: Record<string, unknown> | undefined;

  constructor(size: number) {
    this.content = Buffer.alloc(size);
  }

  async send(request: HttpRequest): Promise<HttpReply> {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    await new Promise((resolve) => setImmediate(resolve));
    this.running -= 1;
    return request.url.host === 'blob.test' ? this.#blob(request) : this.#arm(request);
  }

  #arm({ method, url, body }: HttpRequest): HttpReply {
    const given = typeof body === 'string' && body !== '' ? JSON.parse(body) : {};
    if (url.pathname.endsWith('beginGetAccess'))
      return reply(200, { accessSAS: 'https://blob.test/d?sig=secret' });
    if (method === 'GET') return this.#disk === undefined ? reply(404, notFound) : reply(200, this.#disk);
    if (method === 'PUT') this.#disk = { id: url.pathname, ...given };
    if (method === 'PATCH') this.#disk = { ...this.#disk, ...given };
    return reply(200, this.#disk);
  }

  #blob({ method, url, headers = {}, body }: HttpRequest): HttpReply {
    expect(url.searchParams.get('sig')).toBe('secret');
    if (method === 'GET') {
      const ranges = this.written.map(({ offset, length }) => [offset, offset + length - 1]);
      const pages = ranges.map(
        ([start, end]) => `<PageRange><Start>${start}</Start><End>${end}</End></PageRange>`,
      );
      return {
        status: 200,
        headers: {},
        body: Buffer.from(`<PageList>${pages.sort(byStart).join('')}</PageList>`),
      };
    }
    this.requests += 1;
    if (this.requests > this.loseAfter)
      throw new ImagoError('provider-no-reply', 'lost', { retryable: false });
    const bytes = Buffer.from(body as Uint8Array);
    expect(headers['content-md5']).toBe(createHash('md5').update(bytes).digest('base64'));
    const offset = Number(/bytes=(\d+)-/.exec(String(headers['x-ms-range']))?.[1]);
    bytes.copy(this.content, offset);
    if (!this.forgets) this.written.push({ offset, length: bytes.length });
    return reply(201, undefined);
  }
}

const notFound = { error: { code: 'ResourceNotFound', message: 'no' } };

function byStart(one: string, other: string): number {
  return Number(/\d+/.exec(one)?.[0]) - Number(/\d+/.exec(other)?.[0]);
}

function reply(status: number, json: unknown): HttpReply {
  return { status, headers: {}, body: Buffer.from(json === undefined ? '' : JSON.stringify(json)) };
}

function contextOf(azure: FakeAzure, disk: SealedDisk): AzureContext {
  const transport = { send: (request: HttpRequest) => azure.send(request), close: () => undefined };
  const clock = { now: () => 0, sleep: async () => undefined };
  const where = { endpoint: 'https://management.azure.com', subscription: 's', group: 'g' };
  const arm = new ArmClient({ ...where, transport, clock, token: async () => 'token' });
  const parts = { arm, transport, sealedDisks: { open: async () => disk }, inTurn: createTurns() };
  return parts as Partial<AzureContext> as AzureContext;
}

test('sends only what holds data, a few requests at a time, and the bytes are those of a fixed VHD', async () => {
  const { bytes, disk } = sparseDisk();
  const azure = new FakeAzure(bytes.length + 512);
  const told: number[] = [];
  const onProgress = (done: number) => told.push(done);
  await uploadDisk(contextOf(azure, disk), digest, 'westeurope', { ...options, onProgress });
  expect(azure.content.subarray(0, bytes.length).equals(bytes)).toBe(true);
  const footer = decodeVhdFooter(azure.content.subarray(bytes.length));
  expect(footer).toMatchObject({ kind: 'fixed', size: bytes.length });
  const sent = azure.written.reduce((sum, { length }) => sum + length, 0);
  expect(sent).toBeLessThanOrEqual(7 * mebibyte + 64 * 1024 + 1024);
  expect(Math.max(...azure.written.map(({ length }) => length))).toBeLessThanOrEqual(4 * mebibyte);
  expect(azure.most).toBeLessThanOrEqual(8);
  expect(told).toEqual([...told].sort((a, b) => a - b));
  const { requests } = azure;
  await uploadDisk(contextOf(azure, disk), digest, 'westeurope', options);
  expect(azure.requests).toBe(requests);
});

test('after an interruption, sends the rest, and what it has sent not again', async () => {
  const { bytes, disk } = sparseDisk();
  const azure = new FakeAzure(bytes.length + 512);
  azure.loseAfter = 1;
  const context = contextOf(azure, disk);
  await expect(uploadDisk(context, digest, 'westeurope', options)).rejects.toThrow('lost');
  azure.loseAfter = Number.POSITIVE_INFINITY;
  await uploadDisk(context, digest, 'westeurope', options);
  expect(azure.content.subarray(0, bytes.length).equals(bytes)).toBe(true);
  const starts = azure.written.map(({ offset }) => offset);
  expect(new Set(starts).size).toBe(starts.length);
});

test('pages that Azure accepted and does not have fail the upload', async () => {
  const { bytes, disk } = sparseDisk();
  const azure = new FakeAzure(bytes.length + 512);
  azure.forgets = true;
  await expect(uploadDisk(contextOf(azure, disk), digest, 'westeurope', options)).rejects.toThrow(
    'does not have the page at byte 0',
  );
});

test('refuses a disk that is not of whole MiB', async () => {
  const { disk } = sparseDisk();
  const odd = { ...disk, size: disk.size - 512 };
  const context = contextOf(new FakeAzure(0), odd);
  await expect(uploadDisk(context, digest, 'westeurope', options)).rejects.toThrow('whole MiB');
});
