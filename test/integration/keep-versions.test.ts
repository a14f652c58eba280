// One more package on the list leaves the others at the versions that are locked, by apt's own solver over a small
// archive: as long as the archive has them and they go together. What moves is told.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openWorkspace, writeConfig } from '../../src/build/debian/apt-workspace.ts';
import { solveKeeping } from '../../src/build/lock/keep-versions.ts';
import { nodePackages, toolPackages } from '../../src/build/lock/rules.ts';
import type { LockedInput } from '../../src/domain/lock/lock.ts';
import type { Recipe } from '../../src/domain/recipe/recipe.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { sampleLock } from '../support/inventory.ts';

let folder: string;
let told: string[];
let state = 0;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-keep-'));
  told = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const names = [...new Set(['first', ...nodePackages('x64'), ...toolPackages, 'app', 'libapp'])];

function recipeOf(...packages: readonly string[]): Recipe {
  return { ...sampleLock().recipe, components: [], packages: packages.map((name) => ({ name })) };
}

function paragraph(name: string, version: number, more = ''): string {
  const lines = [
    ...[`Package: ${name}`, `Version: ${version}`, 'Architecture: amd64', 'Maintainer: nobody'],
    ...[`Filename: pool/${name}_${version}.deb`, 'Size: 1', 'Installed-Size: 1'],
    ...[`SHA256: ${String(version).repeat(64)}`, `Description: ${name}`],
    ...(name === 'first' ? ['Essential: yes'] : []),
    ...(name === 'app' ? ['Depends: libapp'] : []),
  ];
  return `${[...lines, ...(more === '' ? [] : [more])].join('\n')}\n`;
}

const all = (version: number) => names.map((name) => paragraph(name, version));

/** What the archive has now, and how the recipe comes out of it. */
async function solve(
  index: readonly string[],
  recipe: Recipe,
  before: readonly LockedInput[] = [],
): Promise<{ readonly inputs: readonly LockedInput[]; readonly versions: Readonly<Record<string, string>> }> {
  const [own, served] = [join(folder, 'apt'), join(folder, 'archive')];
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    await mkdir(join(own, part), { recursive: true });
  await mkdir(served, { recursive: true });
  await writeFile(join(served, 'Packages'), index.join('\n'));
  const archive = {
    suite: 'small',
    machine: 'amd64',
    mirror: 'http://127.0.0.1:1/',
    securityMirror: undefined,
    components: ['main'],
    keyring: '',
    redirects: false,
  };
  const config = await writeConfig(own, archive);
  await writeFile(
    join(own, 'debian.sources'),
    `Types: deb\nURIs: file:${served}\nSuites: ./\nTrusted: yes\n`,
  );
  await runTool('apt-get', ['update', '-qq'], { env: { APT_CONFIG: config } });
  state += 1;
  const apt = await openWorkspace({ folder: own, config, archive, index: String(state) });
  const inputs = await solveKeeping(apt, recipe, before, (line) => told.push(line));
  return { inputs, versions: Object.fromEntries(inputs.map(({ name, version }) => [name, version])) };
}

test('a package that is added comes alone; without a lock the newest of everything is taken', async () => {
  const { inputs } = await solve(all(1), recipeOf('app'));
  const index = [...all(1), ...all(2), paragraph('extra', 2, 'Depends: libapp')];
  const { versions } = await solve(index, recipeOf('app', 'extra'), inputs);
  expect(versions).toMatchObject({ extra: '2', app: '1', libapp: '1', curl: '1', first: '1' });
  expect(Object.entries(versions).filter(([, version]) => version === '2')).toEqual([['extra', '2']]);
  expect(told).toEqual([]);
  const newest = await solve(index, recipeOf('app', 'extra'));
  expect(new Set(Object.values(newest.versions))).toEqual(new Set(['2']));
});

test('what the archive has forgotten moves alone, and is told', async () => {
  const { inputs } = await solve(all(1), recipeOf('app'));
  const index = [...all(1).filter((text) => !text.startsWith('Package: libapp\n')), ...all(2)];
  const { versions } = await solve(index, recipeOf('app'), inputs);
  expect(versions).toMatchObject({ libapp: '2', app: '1', curl: '1' });
  expect(told).toEqual(['libapp 1 → 2: the archive no longer has it']);
});

test('what does not go together with the new package moves, also below it, and the rest stays', async () => {
  const { inputs } = await solve(all(1), recipeOf('app'));
  const index = [...all(1), ...all(2), paragraph('extra', 2, 'Depends: curl (>= 2), libapp (>= 2)')];
  const { versions } = await solve(index, recipeOf('app', 'extra'), inputs);
  expect(versions).toMatchObject({ extra: '2', curl: '2', libapp: '2', app: '1', first: '1', udev: '1' });
  expect(told.sort()).toEqual([
    'curl 1 → 2: it does not go together with the others otherwise',
    'libapp 1 → 2: it does not go together with the others otherwise',
  ]);
});

test('packages that never go together are told by name', async () => {
  const index = [...all(1), paragraph('extra', 2, 'Depends: libapp (>= 7)')];
  const { inputs } = await solve(all(1), recipeOf('app'));
  await expect(solve(index, recipeOf('app', 'extra'), inputs)).rejects.toMatchObject({
    code: 'package-conflict',
    message: expect.stringMatching(/extra : Depends: libapp \(>= 7\)/),
  });
});
