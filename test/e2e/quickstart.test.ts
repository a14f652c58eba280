// The README's first command, in a state folder of its own, twice.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-quickstart-'));
});

afterAll(async () => {
  await run(join(root, 'bin/imago'), ['down']);
  await rm(folder, { recursive: true, force: true });
});

function run(command: string, words: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(command, words, {
    env: { ...process.env, IMAGO_HOME: join(folder, 'home') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  return new Promise((done, reject) => {
    child.on('error', reject);
    child.on('close', (code) => done({ code, text }));
  });
}

test.each(['first', 'second'])('./quickstart --provider sim, the %s time', async () => {
  const { code, text } = await run(join(root, 'quickstart'), ['--provider', 'sim']);
  expect(text).toMatch(/first-node:production points to/);
  expect(text).toMatch(/Pool web has 3 nodes/);
  expect(text.match(/^reference +first-node:production$/gm)).toHaveLength(3);
  expect(text).toMatch(/What to try next/);
  expect(code).toBe(0);
});

test('a flag that it does not have is refused before anything is installed', async () => {
  const { code, text } = await run(join(root, 'quickstart'), ['--provder', 'sim']);
  expect(code).toBe(2);
  expect(text).toMatch(/hint: /);
});
