import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import type { BuildContext } from './builder-context.ts';
import { publicStep, stepReport } from './step-report.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-steps-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const lock = sampleLock(
  { components: [{ name: 'hush', version: '1', from: { file: 'x' }, to: '/opt/x', private: true }] },
  [sampleInput('binary', 'hush', { version: '1', private: true })],
);

test('timings have the steps that were made, in their order, and neither reused nor unfinished ones', async () => {
  const layers = { find: async () => undefined };
  const context = { cacheFolder: folder, layers } as unknown as BuildContext;
  const report = await stepReport(context, lock, 'sha256:0', { progress() {}, log() {} });
  for (const step of ['inputs', 'base', 'component hush', 'disk']) report.begin(step);
  report.end('component hush');
  report.end('base', true);
  report.end('inputs');
  const timings = report.timings();
  await report.close();
  expect(timings.map(({ step }) => step)).toEqual(['component private-1', 'inputs']);
  expect(timings.every(({ ms }) => Number.isInteger(ms) && ms >= 0)).toBe(true);
  const history: unknown = JSON.parse(
    await readFile(join(folder, 'records', 'history', 'steps.json'), 'utf8'),
  );
  expect(Object.keys(history as object)).toEqual(['component hush', 'inputs']);
});

test('progress and logs name a private input by its alias alone', async () => {
  const layers = { find: async () => undefined };
  const context = { cacheFolder: folder, layers } as unknown as BuildContext;
  const told: string[] = [];
  const progress = {
    progress: (_: number, __: number, sentence: string) => void told.push(sentence),
    log: (line: string) => void told.push(line),
  };
  const report = await stepReport(context, lock, 'sha256:0', progress);
  report.begin('component hush');
  report.log('component hush', 'placing hush at /opt/x');
  report.end('component hush');
  await report.close();
  const logs = join(folder, 'logs', 'sha256-0');
  const [file = '', ...others] = await readdir(logs);
  expect(others).toEqual([]);
  told.push(file, await readFile(join(logs, file), 'utf8'));
  expect(told).toContainEqual(expect.stringMatching(/^component private-1: done in /));
  expect(told).toContain('placing private-1 at private-1\n');
  expect(told.filter((text) => /hush|opt/.test(text))).toEqual([]);
});

test('a step is named after private inputs only by their alias', () => {
  const secrets = [{ alias: 'private-1', names: ['hush', 'hushpack'], places: [] }];
  expect(publicStep('component hush', secrets)).toBe('component private-1');
  expect(publicStep('packages runc, hushpack', secrets)).toBe('packages runc, private-1');
  expect(publicStep('component hushed', secrets)).toBe('component hushed');
  expect(publicStep('packages', secrets)).toBe('packages');
  expect(publicStep('seal', secrets)).toBe('seal');
});
