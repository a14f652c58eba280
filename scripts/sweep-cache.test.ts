import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepCache } from './sweep-cache.ts';

const now = Date.parse('2026-01-10T00:00:00Z');
const hour = 3_600_000;
let cache: string;

beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'imago-sweep-'));
});
afterEach(() => rm(cache, { recursive: true }));

async function put(path: string, bytes: number, ageMs: number): Promise<void> {
  const file = join(cache, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, Buffer.alloc(bytes));
  const time = new Date(now - ageMs);
  const top = join(cache, ...path.split('/').slice(0, 2));
  for (const touched of [file, top]) await utimes(touched, time, time);
}

const sweep = async (maxBytes = 1000) =>
  (await sweepCache(cache, { maxBytes, inUseMs: 6 * hour }, now)).map((path) => path.slice(cache.length + 1));

describe('the cache', () => {
  it('loses what killed runs left a day ago, and keeps the work of those that can still run', async () => {
    for (const name of ['go-abc123', 'source-abc123', 'imago-work-1-abc123']) {
      await put(`kubernetes/${name}/file`, 10, 25 * hour);
      await put(`kubernetes/${name}-new/file`, 10, hour);
    }
    await put('test/build-work-x/file', 10, 25 * hour);
    expect((await sweep()).toSorted()).toEqual([
      'kubernetes/go-abc123',
      'kubernetes/imago-work-1-abc123',
      'kubernetes/source-abc123',
      'test/build-work-x',
    ]);
    expect(await sweep()).toEqual([]);
  });

  it('is brought within its limit, least recently used first', async () => {
    await put('kubernetes/1.33.0/amd64/kubelet', 600, 900 * hour);
    await put('test/trixie-1.tar', 600, 800 * hour);
    await put('kubernetes/1.34.2/amd64/kubelet', 600, 700 * hour);
    expect(await sweep()).toEqual(['kubernetes/1.33.0', 'test/trixie-1.tar']);
    expect(await readdir(join(cache, 'kubernetes'))).toEqual(['1.34.2']);
  });

  it('keeps what was used a short time ago even above its limit', async () => {
    await put('kubernetes/1.34.2/amd64/kubelet', 5000, hour);
    expect(await sweep()).toEqual([]);
  });

  it('can be absent', async () => {
    expect(await sweepCache(join(cache, 'none'), { maxBytes: 0, inUseMs: 0 }, now)).toEqual([]);
  });
});
