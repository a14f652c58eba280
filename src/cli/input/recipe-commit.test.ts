import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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

describe('a work tree with a hostile configuration', () => {
  /** Returns a command that leaves a file behind and passes its input on. */
  function trap(name: string): string {
    mkdirSync(join(folder, '.git', 'sprung'), { recursive: true });
    const path = join(folder, '.git', `trap-${name}`);
    writeFileSync(path, `#!/bin/sh\ntouch ${join(folder, '.git', 'sprung', name)}\ncat\n`);
    chmodSync(path, 0o755);
    return path;
  }
  const sprung = () => readdirSync(join(folder, '.git', 'sprung'));
  const configure = (text: string) => appendFileSync(join(folder, '.git', 'config'), text);

  test('runs none of its filters, monitors and hooks', async () => {
    const commit = commitAll();
    configure(`[filter "plain"]\n clean = ${trap('clean')}\n required = true\n`);
    configure(`[filter "a=b.c"]\n clean = ${trap('odd-clean')}\n`);
    configure(`[filter "long"]\n process = ${trap('process')}\n required = true\n`);
    configure(`[core]\n fsmonitor = ${trap('fsmonitor')}\n hooksPath = ${join(folder, '.git', 'traps')}\n`);
    mkdirSync(join(folder, '.git', 'traps'));
    for (const hook of ['post-index-change', 'fsmonitor-watchman']) {
      writeFileSync(join(folder, '.git', 'traps', hook), `#!/bin/sh\nexec ${trap(hook)}\n`, { mode: 0o755 });
    }
    mkdirSync(join(folder, '.git', 'info'), { recursive: true });
    const lines = ['*.yaml filter=plain', 'motd filter=a=b.c', 'images/odd* filter=long'];
    writeFileSync(join(folder, '.git', 'info', 'attributes'), `${lines.join('\n')}\n`);
    // The same size as before: git must read the files to compare them.
    write('images/imago.yaml', 'name: edon\n');
    write('images/odd [name]*.yaml', 'name: ddo\n');
    write('images/motd', 'olleh\n');
    expect(await readRecipeCommit(recipe)).toEqual({ commit, dirty: true });
    expect(sprung()).toEqual([]);
  });

  test('runs nothing of a submodule', async () => {
    commitAll();
    const inner = join(folder, 'images', 'inner');
    mkdirSync(inner);
    execFileSync('git', ['init', '--quiet'], { cwd: inner });
    writeFileSync(join(inner, 'a'), 'a\n');
    execFileSync('git', ['add', '.'], { cwd: inner });
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
    execFileSync('git', [...who, 'commit', '--quiet', '--message', 'inner'], { cwd: inner });
    git('add', 'images/inner');
    git('commit', '--quiet', '--message', 'second');
    const own = `[filter "inner"]\n clean = ${trap('inner')}\n[core]\n fsmonitor = ${trap('inner-monitor')}\n`;
    appendFileSync(join(inner, '.git', 'config'), own);
    writeFileSync(join(inner, '.git', 'info', 'attributes'), '* filter=inner\n');
    writeFileSync(join(inner, 'a'), 'b\n');
    expect(await readRecipeCommit(recipe)).toMatchObject({ dirty: false });
    expect(sprung()).toEqual([]);
  });

  test('fetches nothing that is missing', async () => {
    commitAll();
    const tree = git('rev-parse', 'HEAD^{tree}');
    configure('[extensions]\n partialClone = origin\n[core]\n repositoryFormatVersion = 1\n');
    configure(`[remote "origin"]\n url = ${folder}\n promisor = true\n uploadpack = ${trap('uploadpack')}\n`);
    rmSync(join(folder, '.git', 'objects', tree.slice(0, 2), tree.slice(2)));
    expect(await readRecipeCommit(recipe)).toBeUndefined();
    expect(sprung()).toEqual([]);
  });
});
