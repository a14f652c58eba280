// Every script that is sent to Windows, by a grammar that others wrote. None was executed: no Windows is to be had here.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  bringToWindows,
  factsScript,
  tidyScript,
  windowsJobScript,
} from '../../src/domain/build/windows-job.ts';
import { sealStep, windowsSteps } from '../../src/domain/build/windows-steps.ts';
import { manifestPath } from '../../src/domain/windows-node/first-boot.ts';
import { firstBootScript } from '../../src/domain/windows-node/first-boot-script.ts';
import { judgePowerShell } from '../support/windows-judge.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-script-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function problems(text: string): Promise<readonly string[]> {
  const path = join(folder, 'script.ps1');
  await writeFile(path, text);
  return judgePowerShell(path);
}

const sha256 = 'a'.repeat(64);
const hostile = 'it\'s `$(calc) "x"';
const components = [
  { name: 'kubelet', version: '1', from: { url: 'https://example.test' }, to: 'C:\\k\\kubelet.exe' },
] as const;
const windows = {
  patches: [
    { kb: 'KB5000001', class: 'B', build: '26100.2000' },
    { kb: 'KB5000002', class: 'B', kind: 'checkpoint', build: '26100.1742' },
  ],
  features: ['Containers', hostile],
  registry: [
    { path: 'HKLM\\SOFTWARE\\X', name: hostile, type: 'string', value: hostile },
    { path: 'HKLM\\SOFTWARE\\X', name: 'M', type: 'multi-string', value: ['a', 'b'] },
    { path: 'HKLM\\SOFTWARE\\X', name: 'B', type: 'binary', value: 'deadbeef' },
    { path: 'HKLM\\SOFTWARE\\X', name: 'D', type: 'dword', value: 1 },
  ],
  services: [{ name: 'wuauserv', start: 'disabled' }],
} as const;
const { before, after } = windowsSteps(
  { name: 'w', components, windows, steps: [{ name: 's', run: 'x' }] },
  [],
);
const tar = { name: 'c', version: '1', from: { tar: 'x', strip: 1, only: ["a'b"] }, to: 'C:\\c' } as const;

it.each([
  ['the first start', firstBootScript],
  ...[...before, ...after, sealStep].map(({ name, script }) => [name, script]),
  ['a job', windowsJobScript({ id: '1-abc', script: sealStep.script, from: 0 })],
  ['facts', factsScript],
  ['tidying', tidyScript],
  ['bringing in', bringToWindows.begin()],
  ['a piece', bringToWindows.write(sha256, 65_536, 'AAAA')],
  ['a file', bringToWindows.end(sha256, components[0], '1')],
  ['an archive', bringToWindows.end(sha256, tar, '1')],
])('the script of %s parses without errors', async (_, text) => {
  expect(await problems(text ?? '')).toEqual([]);
});

it('a broken script does not parse', async () => {
  const broken = firstBootScript.replace('if (-not (Test-Path', 'if (-not ((Test-Path');
  expect(await problems(broken)).not.toEqual([]);
});

it('the script of the first start knows the places and rules of the planner', () => {
  expect(firstBootScript).toContain(`'${manifestPath}'`);
  for (const word of ['use', 'download', 'set', 'keep', 'start'])
    expect(firstBootScript).toContain(`Add-Step '${word}'`);
  expect(firstBootScript).not.toMatch(/Invoke-Expression|iex /i);
});
