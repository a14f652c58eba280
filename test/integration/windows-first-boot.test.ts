// The script of the first start, by a grammar that others wrote. It was never executed: no Windows is to be had here.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { manifestPath } from '../../src/domain/windows-node/first-boot.ts';
import { judgePowerShell } from '../support/windows-judge.ts';

const script = 'src/domain/windows-node/first-boot.ps1';

it('the script of the first start parses without errors, and a broken one does not', async () => {
  expect(await judgePowerShell(script)).toEqual([]);
  const folder = await mkdtemp(join(tmpdir(), 'imago-script-'));
  try {
    const broken = join(folder, 'broken.ps1');
    await writeFile(
      broken,
      (await readFile(script, 'utf8')).replace('if (-not (Test-Path', 'if (-not ((Test-Path'),
    );
    expect(await judgePowerShell(broken)).not.toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('the script knows the places and rules of the planner', async () => {
  const text = await readFile(script, 'utf8');
  expect(text).toContain(`'${manifestPath}'`);
  for (const word of ['use', 'download', 'set', 'keep', 'start'])
    expect(text).toContain(`Add-Step '${word}'`);
  expect(text).not.toMatch(/Invoke-Expression|iex /i);
});
