// How many requests a command makes to follow an operation: its events carry what changed, so the record is not read
// again for each of them.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';

let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
  await imago.json(['up', '--provider', 'sim']);
  await imago.writeFile('imago.yaml', recipe);
  await imago.json(['release', '--reason', 'first', '--to', 'staging']);
});
afterAll(() => imago.end());

async function requestsOf(...words: readonly string[]): Promise<{ requests: string[]; err: string }> {
  const file = join(imago.folder, 'requests');
  const preload = join(import.meta.dirname, '../support/log-requests.ts');
  rmSync(file, { force: true });
  const env = { NODE_OPTIONS: `--import=${preload}`, IMAGO_TEST_REQUESTS: file };
  const { code, out, err } = await imago.run(words, { env });
  expect(code, `${out}${err}`).toBe(0);
  return { requests: readFileSync(file, 'utf8').trim().split('\n'), err };
}

test('a promotion makes at most four requests, and shows each step once', async () => {
  const { requests, err } = await requestsOf(
    ...['channel', 'promote', 'node:staging', '--to', 'production', '--reason', 'tested'],
  );
  expect(requests.length, requests.join('\n')).toBeLessThanOrEqual(4);
  const steps = err.split('\n').filter((line) => line.startsWith('✓'));
  expect(steps.length).toBeGreaterThan(1);
  expect(new Set(steps).size).toBe(steps.length);
});

test('a build sends its recipe once, so the daemon checks it once', async () => {
  await imago.writeFile('imago.yaml', recipe.replace('1.34.2', '1.34.3'));
  const { requests } = await requestsOf('build');
  expect(requests.filter((request) => request.startsWith('POST'))).toEqual(['POST /v1/builds']);
  expect(requests.length, requests.join('\n')).toBeLessThanOrEqual(4);
});

test('a build whose recipe extends another file sends it again only for that file', async () => {
  await imago.writeFile('base.yaml', recipe);
  await imago.writeFile('imago.yaml', 'extends: base.yaml\n');
  const { requests } = await requestsOf('build');
  const posts = requests.filter((request) => request.startsWith('POST'));
  expect(posts).toEqual(['POST /v1/builds', 'POST /v1/builds']);
});

test('an operation of many steps makes no more', async () => {
  const { requests, err } = await requestsOf(
    'pool',
    'create',
    'web',
    '--image',
    'node:production',
    '--nodes',
    '3',
  );
  expect(requests.length, requests.join('\n')).toBeLessThanOrEqual(4);
  expect(err).toContain('✓');
});
