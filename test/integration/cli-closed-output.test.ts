// A reader such as `head` closes the pipe before the command has written everything.

import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, createImago, type Finished, type Imago, recipe } from '../support/imago.ts';

const launcher = resolve(import.meta.dirname, '../../bin/imago');
let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
  await imago.run(['build', await imago.writeFile('imago.yaml', recipe)]);
});
afterAll(() => imago.end());

function runClosed(words: readonly string[], stream: 'stdout' | 'stderr' = 'stdout'): Promise<Finished> {
  const { child, finished } = imago.start(words);
  child[stream]?.destroy();
  return finished;
}

test.each([
  [['--help']],
  [['version']],
  [['completion', 'bash']],
  [['op', 'list', '--json']],
  [['image', 'list', '-o', 'name']],
])('imago %j exits with 0 and no stack trace if the reader is gone', async (words) => {
  expect(await runClosed(words)).toEqual({ code: 0, out: '', err: '' });
});

test('a command that fails keeps its exit code if the reader is gone', async () => {
  expect(await runClosed(['op', 'show', 'no-such-operation', '--json'])).toMatchObject({ code: 3, err: '' });
  expect(await runClosed(['no-such-command'], 'stderr')).toMatchObject({ code: 2, out: '' });
});

test('a stream ends with an error and a hint if the reader is gone', async () => {
  const { code, err } = await runClosed(['backup', '-']);
  expect({ code, err }).toEqual({ code: 130, err: expect.stringMatching(/^error: .*closed.*\nhint: .*\n$/) });
});

test('output that cannot be written is an error and not a success', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(launcher, ['version'], {
    stdio: ['ignore', full, 'pipe'],
  });
  expect(await collect(child)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^error: .*ENOSPC.*\nhint: /),
  });
});

test('errors that cannot be written do not keep the command from its exit', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(launcher, ['no-such-command'], { stdio: ['ignore', 'pipe', full] });
  expect(await collect(child)).toMatchObject({ code: 1, out: '' });
});
