import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LockedInput } from '../domain/lock/lock.ts';
import { type DiskStore, openDiskStore } from '../oci/disks/disk-store.ts';
import { type ContentFolder, contentFolder } from './content/content-folder.ts';
import { type FetchContext, fetchInputs } from './fetch-inputs.ts';
import type { DownloadRequest } from './inputs/download.ts';
import { localFiles } from './inputs/local-files.ts';

const content = Buffer.from('what the version kept');
const sha256 = createHash('sha256').update(content).digest('hex');
const input = {
  ...{ kind: 'binary', name: 'tool', version: '1', sha256, sizeBytes: content.length },
  source: 'https://tools.example/tool',
} as const satisfies LockedInput;

let folder: string;
let kept: DiskStore;
let inputs: ContentFolder;
let asked: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-fetch-'));
  kept = await openDiskStore(join(folder, 'store'));
  inputs = contentFolder(join(folder, 'cache'));
  asked = [];
  const hold = kept.owner.hold();
  await kept.blobs.put(content, hold);
  hold.release();
});
afterEach(async () => {
  await kept.close();
  await rm(folder, { recursive: true, force: true });
});

function context(more: Partial<FetchContext> = {}): FetchContext {
  async function fetch({ url, onProgress }: DownloadRequest) {
    asked.push(url);
    onProgress?.(5, content.length);
    return inputs.addBytes(content);
  }
  const mirrors = async () => ({ main: '', security: undefined });
  const files = localFiles({});
  return { inputs, downloads: { fetch }, kept, mirrors, machine: 'amd64', files, ...more };
}

test('an input that a version kept is taken from there, once', async () => {
  expect(await fetchInputs([input], context())).toBe(1);
  expect(await fetchInputs([input], context())).toBe(0);
  expect(asked).toEqual([]);
  expect(await readFile(inputs.path(sha256))).toEqual(content);
});

test('a kept input that is damaged counts as absent: its source is asked', async () => {
  await writeFile(kept.blobs.path(`sha256:${sha256}`), 'what was not kept');
  expect(await fetchInputs([input], context())).toBe(1);
  expect(asked).toEqual([input.source]);
  expect(await readFile(inputs.path(sha256))).toEqual(content);
});

test('the bytes of a download are reported while it runs', async () => {
  const told: (readonly [number, number])[] = [];
  const onProgress = (bytes: number, total: number) => void told.push([bytes, total]);
  await fetchInputs([input], context({ kept: undefined, onProgress }));
  expect(told).toEqual([
    [5, content.length],
    [content.length, content.length],
  ]);
});
