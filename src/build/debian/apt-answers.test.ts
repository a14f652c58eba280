import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aptAnswers } from './apt-answers.ts';

let folder: string;
let asked: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-answers-'));
  asked = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function ask(): Promise<string> {
  asked += 1;
  return `answer ${asked}`;
}

test('a question is asked once for one state of the index', async () => {
  const answers = await aptAnswers(folder, 'index');
  const question = ['apt-get', 'install', 'runc', 'status'];
  expect(await answers.answer(question, ask)).toBe('answer 1');
  expect(await (await aptAnswers(folder, 'index')).answer(question, ask)).toBe('answer 1');
  expect(await answers.answer(['apt-get', 'install', 'runc', 'other status'], ask)).toBe('answer 2');
});

test('another index drops the answers of the previous one', async () => {
  await (await aptAnswers(folder, 'old')).answer(['question'], ask);
  expect(await (await aptAnswers(folder, 'new')).answer(['question'], ask)).toBe('answer 2');
  expect(await readdir(folder)).toEqual(['new']);
});

test('a damaged answer is asked for again', async () => {
  const answers = await aptAnswers(folder, 'index');
  await answers.answer(['question'], ask);
  const [name = ''] = await readdir(join(folder, 'index'));
  const path = join(folder, 'index', name);
  await writeFile(path, (await readFile(path, 'utf8')).slice(0, -1));
  expect(await answers.answer(['question'], ask)).toBe('answer 2');
});

test('an error is not kept', async () => {
  const answers = await aptAnswers(folder, 'index');
  const failing = answers.answer(['question'], () => Promise.reject(new Error('no network')));
  await expect(failing).rejects.toThrow('no network');
  expect(await answers.answer(['question'], ask)).toBe('answer 1');
});
