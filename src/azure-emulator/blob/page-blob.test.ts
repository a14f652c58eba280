import { afterEach, beforeEach, expect, test } from 'vitest';
import { Blobs } from './blobs.ts';
import { answerBlob, type BlobReply } from './service.ts';

const path = '/account/disks/one.vhd';
let now = 0;
let blobs: Blobs;

beforeEach(() => {
  now = 0;
  blobs = new Blobs(() => now);
});
afterEach(() => blobs.close());

function ask(
  method: string,
  query: string,
  headers: Record<string, string> = {},
  body: Buffer = Buffer.alloc(0),
  signedIn = true,
): Promise<BlobReply> {
  const url = new URL(`https://127.0.0.1${path}${query}`);
  return answerBlob(blobs, { method, url, headers, body, signedIn });
}

async function write(start: number, bytes: Buffer): Promise<void> {
  const range = `bytes=${start}-${start + bytes.length - 1}`;
  expect(await ask('PUT', '?comp=page', { range, 'x-ms-page-write': 'update' }, bytes)).toMatchObject({
    status: 201,
  });
}

async function clear(start: number, length: number): Promise<void> {
  const range = `bytes=${start}-${start + length - 1}`;
  expect(await ask('PUT', '?comp=page', { range, 'x-ms-page-write': 'clear' })).toMatchObject({
    status: 201,
  });
}

async function ranges(query: string): Promise<readonly string[]> {
  const text = (await ask('GET', query)).body?.toString() ?? '';
  return [...text.matchAll(/<(Page|Clear)Range><Start>(\d+)<\/Start><End>(\d+)<\/End>/g)].map(
    ([, kind, start, end]) => `${kind} ${start}-${end}`,
  );
}

function create(size: number): Promise<BlobReply> {
  return ask('PUT', '', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': String(size) });
}

test('a page blob reads what was written, and zeros elsewhere', async () => {
  await create(8192);
  await write(512, Buffer.alloc(1024, 1));
  await write(1024, Buffer.alloc(512, 2));
  const { status, body } = await ask('GET', '', { range: 'bytes=0-2047' });
  expect(status).toBe(206);
  expect([0, 512, 1023, 1024, 1535, 1536].map((at) => body?.[at])).toEqual([0, 1, 1, 2, 2, 0]);
  expect(await ranges('?comp=pagelist')).toEqual(['Page 512-1535']);
});

test('differences since a snapshot are the pages that were written and those that were cleared', async () => {
  await create(16_384);
  await write(0, Buffer.alloc(1024, 1));
  await write(4096, Buffer.alloc(512, 1));
  const { headers } = await ask('PUT', '?comp=snapshot');
  await write(2048, Buffer.alloc(512, 2));
  await clear(512, 512);
  expect(await ranges(`?comp=pagelist&prevsnapshot=${headers['x-ms-snapshot']}`)).toEqual([
    'Clear 512-1023',
    'Page 2048-2559',
  ]);
  expect(await ranges(`?comp=pagelist&snapshot=${headers['x-ms-snapshot']}`)).toEqual([
    'Page 0-1023',
    'Page 4096-4607',
  ]);
});

test('writes that Azure refuses are refused', async () => {
  await create(8192);
  const put = (headers: Record<string, string>, bytes: Buffer) => ask('PUT', '?comp=page', headers, bytes);
  const page = Buffer.alloc(512, 1);
  expect(await put({ range: 'bytes=1-512' }, page)).toMatchObject({ status: 400 });
  expect(await put({ range: 'bytes=8192-8703' }, page)).toMatchObject({ status: 416 });
  expect(await put({ range: 'bytes=0-511', 'content-md5': 'x' }, page)).toMatchObject({
    headers: { 'x-ms-error-code': 'Md5Mismatch' },
  });
  expect(await put({ range: 'bytes=0-511', 'if-match': '"0x0"' }, page)).toMatchObject({ status: 412 });
  await ask('PUT', '?comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' });
  expect(await put({ range: 'bytes=0-511' }, page)).toMatchObject({
    headers: { 'x-ms-error-code': 'LeaseIdMissing' },
  });
  expect(await ranges('?comp=pagelist')).toEqual([]);
});

test('a grant allows what it was given for, until it expires', async () => {
  await create(512);
  const read = `?${blobs.grant(path, false, 60)}`;
  expect(await ask('GET', read, {}, undefined, false)).toMatchObject({ status: 200 });
  expect(await ask('DELETE', read, {}, undefined, false)).toMatchObject({ status: 403 });
  now = 61_000;
  expect(await ask('GET', read, {}, undefined, false)).toMatchObject({ status: 403 });
});

test('a copy has the bytes of its source at that time', async () => {
  await create(1024);
  await write(0, Buffer.alloc(512, 7));
  const url = new URL(`https://127.0.0.1/account/disks/two.vhd`);
  const headers = { 'x-ms-copy-source': `https://127.0.0.1${path}` };
  const copied = await answerBlob(blobs, {
    method: 'PUT',
    url,
    headers,
    body: Buffer.alloc(0),
    signedIn: true,
  });
  expect(copied).toMatchObject({ status: 202, headers: { 'x-ms-copy-status': 'success' } });
  await write(0, Buffer.alloc(512, 8));
  const { body } = await answerBlob(blobs, {
    method: 'GET',
    url,
    headers: {},
    body: Buffer.alloc(0),
    signedIn: true,
  });
  expect(body?.[0]).toBe(7);
});
