import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readRecipeCommit } from './recipe-commit.ts';

let folder: string;
let recipe: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-commit-'));
  recipe = join(folder, 'images', 'imago.yaml');
  mkdirSync(join(folder, 'images'));
  write('images/imago.yaml', 'name: node\n');
  write('images/motd', 'hello\n');
  write('images/odd [name]*.yaml', 'name: odd\n');
  write('README', 'x\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text);
}

function git(...words: string[]): string {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...who, ...words], { cwd: folder, encoding: 'utf8' }).trim();
}

function commitAll(): string {
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
  return git('rev-parse', 'HEAD');
}

test('a recipe outside of any work tree, and one that was never committed, are at no commit', async () => {
  expect(await readRecipeCommit(recipe)).toBeUndefined();
  git('init', '--quiet');
  expect(await readRecipeCommit(recipe)).toBeUndefined();
  git('add', 'README');
  git('commit', '--quiet', '--message', 'first');
  expect(await readRecipeCommit(recipe)).toBeUndefined();
});

test('a committed recipe is at its commit, whatever lies elsewhere or beside it', async () => {
  const commit = commitAll();
  expect(await readRecipeCommit(recipe)).toEqual({ commit, dirty: false });
  write('README', 'changed\n');
  write('images/notes.txt', 'not of the recipe\n');
  expect(await readRecipeCommit(recipe)).toEqual({ commit, dirty: false });
  const odd = join(folder, 'images', 'odd [name]*.yaml');
  expect(await readRecipeCommit(odd)).toEqual({ commit, dirty: false });
});

test('a change to the recipe, to a local input, or a lock that is not committed makes it dirty', async () => {
  const commit = commitAll();
  write('images/motd', 'changed\n');
  expect(await readRecipeCommit(recipe)).toEqual({ commit, dirty: true });
  git('checkout', '--quiet', '--', '.');
  write('images/imago.lock', '{}\n');
  const files = [recipe, join(folder, 'images', 'imago.lock')];
  expect(await readRecipeCommit(recipe, files)).toEqual({ commit, dirty: true });
  git('add', '.');
  expect(await readRecipeCommit(recipe, files)).toEqual({ commit, dirty: true });
  git('commit', '--quiet', '--message', 'second');
  expect(await readRecipeCommit(recipe, files)).toEqual({ commit: git('rev-parse', 'HEAD'), dirty: false });
});
