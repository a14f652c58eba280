// The verbs of recipes as a user types them: what is put together from several files, what is refused, and a matrix
// that becomes several versions. Locks and real builds have tests of their own.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImago, type Imago } from '../support/imago.ts';

let imago: Imago;

const base = 'numbering: kubernetes\ncomponents:\n  - name: containerd\n    version: 1.7.24\n';
const recipe = 'extends: ../common/base.yaml\nname: node\nmatrix: {kubernetes: [1.34.2, 1.34.3]}\n';

beforeAll(async () => {
  imago = await createImago();
  // A Git work tree, so that a recipe can extend files outside of its own directory.
  for (const name of ['.git', 'common', 'node']) await mkdir(join(imago.folder, name));
  await imago.writeFile('common/base.yaml', base);
  await imago.writeFile('node/imago.yaml', recipe);
  await imago.writeFile('node/debug.yaml', 'notes: with symbols\n');
});

afterAll(() => imago.end());

describe('a recipe of several files', () => {
  test('is printed whole, with the file and line of each value', async () => {
    const { out } = await imago.run(['recipe', 'show', 'node/imago.yaml', '--overlay', 'node/debug.yaml']);
    expect(out).toMatch(/numbering: kubernetes # common\/base\.yaml:1/);
    expect(out).toMatch(/notes: with symbols # node\/debug\.yaml:1/);
    const shown = await imago.json<{ versions: object[] }>(['recipe', 'show', 'node/imago.yaml']);
    expect(shown.versions).toEqual([{ kubernetes: '1.34.2' }, { kubernetes: '1.34.3' }]);
  });

  test('from another folder, its paths begin at its own', async () => {
    const cwd = join(imago.folder, 'node');
    expect((await imago.run(['recipe', 'check'], { cwd })).out).toMatch(/imago\.yaml is a valid recipe/);
  });

  test('a file that a base in a folder beside it brings is found by the daemon, which stands elsewhere', async () => {
    await mkdir(join(imago.folder, 'common', 'files'));
    await imago.writeFile('common/files/tool', 'a tool');
    const tool = '  - {name: tool, version: 1.0.0, from: {file: files/tool}, to: /usr/bin/tool}\n';
    await imago.writeFile('common/tool.yaml', `components:\n${tool}`);
    await imago.writeFile('node/tool.yaml', 'extends: ../common/tool.yaml\nname: tool\n');
    const cwd = join(imago.folder, 'node');
    const { out } = await imago.run(['recipe', 'show', 'tool.yaml'], { cwd });
    expect(out).toMatch(/file: \.\.\/common\/files\/tool # \.\.\/common\/tool\.yaml:2/);
  });

  test('a file that is not there is named with its place', async () => {
    await imago.writeFile('lost.yaml', 'name: lost\nextends: nowhere.yaml\n');
    const { code, err } = await imago.run(['recipe', 'check', 'lost.yaml']);
    expect(code).toBe(2);
    expect(err).toMatch(/lost\.yaml:2:1: there is no file nowhere\.yaml/);
  });

  test('files that extend each other are told as a circle', async () => {
    await imago.writeFile('a.yaml', 'name: a\nextends: b.yaml\n');
    await imago.writeFile('b.yaml', 'extends: a.yaml\n');
    expect(await imago.run(['recipe', 'show', 'a.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/circle: a\.yaml → b\.yaml → a\.yaml/),
    });
  });
});

describe('a matrix', () => {
  interface Matrix {
    readonly versions: readonly { readonly version: string; readonly reused: boolean }[];
  }

  test('says what it would do, and does nothing', async () => {
    const plan = await imago.json<{ plan: string[] }>(['build', 'node/imago.yaml', '--dry-run']);
    expect(plan.plan.filter((line) => line.includes('Lock recipe'))).toHaveLength(2);
    expect((await imago.json<{ items: [] }>(['image', 'list'])).items).toEqual([]);
  });

  test('becomes one version for each Kubernetes version, once', async () => {
    const built = await imago.json<Matrix>(['build', 'node/imago.yaml']);
    expect(built.versions.map(({ version }) => version)).toEqual(['1.34.2', '1.34.3']);
    const again = await imago.json<Matrix>(['build', 'node/imago.yaml']);
    expect(again.versions.map(({ version, reused }) => [version, reused])).toEqual([
      ['1.34.2', true],
      ['1.34.3', true],
    ]);
    const names = await imago.run(['build', 'node/imago.yaml', '-o', 'name', '-q']);
    expect(names.out).toBe('node:1.34.2\nnode:1.34.3\n');
  });

  test('one of its versions can be built alone, and is the one that it made', async () => {
    const one = await imago.json(['build', 'node/imago.yaml', '--kubernetes', '1.34.3']);
    expect(one).toMatchObject({ image: 'node', version: '1.34.3', reused: true });
    expect(await imago.run(['build', 'node/imago.yaml', '--kubernetes', '1.34.9'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/1\.34\.9 is not in the matrix[\s\S]*It has 1\.34\.2, 1\.34\.3\./),
    });
  });
});

describe('what is refused before anything starts', () => {
  test.each([
    [['build', '--set', 'runc=1.2.3'], 2, /--from and --set must be used together/],
    [['build', '--from', 'node:1.34.2'], 2, /--from and --set must be used together/],
    [['build', '--from', 'node', '--set', 'runc=1.2.3'], 2, /exact|version/i],
    [['build', '--from', 'node:9.9.9', '--set', 'runc=1.2.3'], 3, /9\.9\.9/],
    [['build', '--from', 'node:1.34.2', '--set', 'runc=1.2.3'], 4, /only simulates locks/],
    [['build', 'node/imago.yaml', '--locked'], 4, /only simulates locks/],
    [
      ['build', '--from', 'node:1.34.2', '--set', 'runc=1.2.3', '--locked'],
      2,
      /--locked applies to a recipe/,
    ],
    [['release', 'node/imago.yaml', '--locked', '--newest', '--reason', 'x'], 2, /not both/],
    [['recipe', 'lock', 'nothing.yaml'], 2, /File nothing\.yaml not found/],
    [['recipe', 'lock', 'node/imago.yaml', '--provider', 'sim'], 4, /only simulates locks/],
    [['recipe', 'outdated', 'node/imago.yaml', '--provider', 'nobody'], 2, /Provider nobody not found/],
  ])('%j', async (words, code, says) => {
    const finished = await imago.run(words);
    expect(finished.err).toMatch(says);
    expect(finished.code).toBe(code);
  });

  test('a lock that was edited by hand', async () => {
    await imago.writeFile('edited.yaml', 'name: edited\n');
    await imago.writeFile('edited.lock', 'digest: sha256:0\nformat: 1\n');
    const { code, err } = await imago.run(['build', 'edited.yaml']);
    expect(code).toBe(2);
    expect(err).toMatch(/edited\.lock cannot be used/);
  });
});
