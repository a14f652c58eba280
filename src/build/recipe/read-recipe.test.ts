// Mistakes in recipes are reported with file, line, and column, in whichever of their files they are.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type LoadedRecipe, readRecipe } from './read-recipe.ts';
import { showRecipe } from './show-recipe.ts';

type Files = Readonly<Record<string, string>>;

function load(files: Files, overlays: readonly string[] = []): Promise<LoadedRecipe> {
  const read = async (path: string) => files[path];
  return readRecipe({ file: 'imago.yaml', overlays, files: { read } });
}

async function errorOf(files: Files | string): Promise<ImagoError> {
  const error: unknown = await load(typeof files === 'string' ? { 'imago.yaml': files } : files).catch(
    (thrown: unknown) => thrown,
  );
  if (error instanceof ImagoError) return error;
  throw new Error('nothing was wrong');
}

test('a good recipe is read; what was left out is not filled in', async () => {
  const { recipe, variants } = await load({
    'imago.yaml': [
      'name: node',
      'kubernetes: 1.34.2',
      'disk: {size: 2GiB}',
      'packages: [jq, {name: runc, version: 1.1.15}]',
      'tests: [{name: up, run: "true", timeout: 90s}]',
      'budgets: {size: 1GiB, bootToReady: 1m}',
      'expect: {ports: [9100], setuid: [/opt/tool]}',
      'support: {until: 2027-02-28}',
    ].join('\n'),
  });
  expect(recipe).toEqual({
    name: 'node',
    numbering: 'semver',
    os: 'linux',
    architecture: 'x64',
    kubernetes: '1.34.2',
    disk: { sizeBytes: 2 ** 31 },
    packages: [{ name: 'jq' }, { name: 'runc', version: '1.1.15' }],
    components: [],
    settings: {},
    tests: [{ name: 'up', run: 'true', timeoutMs: 90_000 }],
    budgets: { sizeBytes: 2 ** 30, bootToReadyMs: 60_000 },
    expect: { ports: [9100], setuid: ['/opt/tool'] },
    support: { until: '2027-02-28' },
  });
  expect(variants).toEqual([recipe]);
});

describe('a mistake is reported with its position', () => {
  test.each([
    ['name: node\nname: other\n', 'recipe-syntax', /^imago\.yaml:2:1: the key name appears twice/],
    ['name: [node\n', 'recipe-syntax', /^imago\.yaml:\d+:\d+: /],
    ['name: node\n---\nname: other\n', 'recipe-syntax', /multiple documents/],
    ['', 'recipe-invalid', /^imago\.yaml:1:1: name is missing/],
    ['- a\n', 'recipe-invalid', /^imago\.yaml:1:1: the recipe must be a map/],
    [
      'name: node\ncomponents:\n  - nam: runc\n',
      'recipe-invalid',
      /^imago\.yaml:3:5: components\.0\.nam is not known \(and 1 more\)/,
    ],
    ['name: node\nnumberng: date\n', 'recipe-invalid', /^imago\.yaml:2:1: numberng is not known/],
    [
      'name: node\nnumbering: dates\n',
      'recipe-invalid',
      /^imago\.yaml:2:1: numbering must be one of semver, date/,
    ],
    ['name: Node Image\n', 'recipe-invalid', /^imago\.yaml:1:1: "Node Image" /],
    ['name: node\ndisk:\n  size: 3G\n', 'recipe-invalid', /^imago\.yaml:3:3: disk\.size "3G" is not a size/],
    [
      'name: node\npackages:\n  - jq\n  - {nam: runc}\n',
      'recipe-invalid',
      /^imago\.yaml:4:6: packages\.1\.nam /,
    ],
    [
      'name: node\nsettings:\n  sysctl: 1\n',
      'recipe-invalid',
      /^imago\.yaml:3:3: settings\.sysctl must be a map/,
    ],
    [
      'name: node\ncomponents:\n  - {name: a, version: "1", to: /a, from: {url: "http://x", file: x}}\n',
      'recipe-invalid',
      /^imago\.yaml:3:37: components\.0\.from has more than one of `package`/,
    ],
    [
      'name: node\ncomponents:\n  - {name: a, version: "1", to: /a, from: {file: x, strip: 1}}\n',
      'recipe-invalid',
      /components\.0\.from\.strip goes only with `tar`/,
    ],
    ['name: node\nexpect:\n  ports: [70000]\n', 'recipe-invalid', /^imago\.yaml:3:\d+: expect\.ports\.0 /],
    ['name: node\nexpect:\n  port: [1]\n', 'recipe-invalid', /^imago\.yaml:3:3: expect\.port is not known/],
  ])('%j', async (text, code, message) => {
    const error = await errorOf(text);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  test('an unknown field with the nearest one', async () => {
    expect((await errorOf('name: node\nnumberng: date\n')).hint).toBe('Did you mean `numbering`?');
    expect((await errorOf('name: node\nsettings: {kernelArgumnts: []}\n')).hint).toBe(
      'Did you mean `kernelArguments`?',
    );
  });

  test('a version that YAML takes for a number gets the hint to put it in quotes', async () => {
    expect((await errorOf('name: node\nkubernetes: 1.34\n')).hint).toBe('Put it in quotes: "1.34".');
  });

  test('a recipe that would grow without end when its aliases are followed', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `  l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(',')}]`,
    );
    const text = ['name: node', 'settings:', '  l0: &l0 [x, x]', ...levels].join('\n');
    expect((await errorOf(text)).message).toMatch(/too large when its aliases/);
  });

  test('all mistakes are listed, each with its own place', async () => {
    const { details } = await errorOf('name: Node\nkubernetes: x\nsettings:\n  limits:\n    nofiles: 1\n');
    expect(details?.problems).toEqual([
      expect.objectContaining({ path: 'name', line: 1 }),
      expect.objectContaining({ path: 'kubernetes', line: 2 }),
      expect.objectContaining({ path: 'settings.limits.nofiles', line: 5, hint: 'Did you mean `nofile`?' }),
    ]);
  });
});

describe('composition', () => {
  const base = [
    'numbering: calendar',
    'packages: [runc, containerd]',
    'components:',
    '  - name: kubelet',
    '    version: 1.34.2',
    '    from: {file: bin/kubelet}',
    '    to: /usr/bin/kubelet',
    'settings:',
    '  sysctl: {net.ipv4.ip_forward: 1, vm.swappiness: 10}',
    '  kernelArguments: [quiet]',
  ].join('\n');

  test('what is above comes over what is below, by name', async () => {
    const { recipe } = await load({
      'common/base.yaml': base,
      'imago.yaml': [
        'extends: common/base.yaml',
        'name: node',
        'packages: [{name: runc, version: 1.1.15}, jq]',
        'components: [{name: kubelet, version: 1.34.3}]',
        'settings: {sysctl: {vm.swappiness: 60}, kernelArguments: [quiet, debug]}',
      ].join('\n'),
    });
    expect(recipe.packages).toEqual([
      { name: 'runc', version: '1.1.15' },
      { name: 'containerd' },
      { name: 'jq' },
    ]);
    expect(recipe.components).toEqual([
      { name: 'kubelet', version: '1.34.3', from: { file: 'common/bin/kubelet' }, to: '/usr/bin/kubelet' },
    ]);
    expect(recipe.settings.sysctl).toEqual({ 'net.ipv4.ip_forward': 1, 'vm.swappiness': 60 });
    expect(recipe.settings.kernelArguments).toEqual(['quiet', 'debug']);
  });

  test('what the checks let pass is joined: a recipe adds to what it extends', async () => {
    const { recipe } = await load({
      'base.yaml': 'expect: {ports: [9100], setuid: [/opt/a]}',
      'imago.yaml': 'extends: base.yaml\nname: node\nexpect: {ports: [9100, 53], setuid: [/opt/b]}\n',
    });
    expect(recipe.expect).toEqual({ ports: [9100, 53], setuid: ['/opt/a', '/opt/b'] });
  });

  describe('paths of a file in another folder', () => {
    const folder = process.cwd();
    beforeAll(() => process.chdir('/'));
    afterAll(() => process.chdir(folder));

    test('begin at the recipe, even in a process whose directory is the root', async () => {
      const { recipe } = await load({
        '../common/base.yaml': base,
        'imago.yaml': 'extends: ../common/base.yaml\nname: node\n',
      });
      expect(recipe.components[0]?.from).toEqual({ file: '../common/bin/kubelet' });
    });

    test('that their texts do not lead to are reported with their position', async () => {
      const files: Files = { '../imago.yaml': 'name: node\n', 'more.yaml': base };
      const reading = readRecipe({
        file: '../imago.yaml',
        overlays: ['more.yaml'],
        files: { read: async (path) => files[path] },
      });
      await expect(reading).rejects.toMatchObject({
        code: 'recipe-invalid',
        message: expect.stringMatching(/^more\.yaml:\d+:\d+: bin\/kubelet cannot be written relative/),
        hint: expect.stringContaining('absolute path'),
      });
    });
  });

  test('overlays come last, and can remove', async () => {
    const files = {
      'imago.yaml': `name: node\n${base}`,
      'small.yaml': 'components: [{name: kubelet, remove: true}]\npackages: [{name: runc, remove: true}]',
    };
    const { recipe } = await load(files, ['small.yaml']);
    expect(recipe.components).toEqual([]);
    expect(recipe.packages).toEqual([{ name: 'containerd' }]);
  });

  test('removing a name that does not exist is a mistake', async () => {
    const error = await errorOf({ 'imago.yaml': 'name: node\npackages: [{name: jq, remove: true}]\n' });
    expect(error.message).toMatch(/^imago\.yaml:2:23: there is nothing of that name/);
  });

  test('a cycle is reported with its path', async () => {
    const error = await errorOf({
      'imago.yaml': 'name: node\nextends: a.yaml\n',
      'a.yaml': 'extends: [b.yaml]\n',
      'b.yaml': 'extends: imago.yaml\n',
    });
    expect(error.code).toBe('recipe-invalid');
    expect(error.message).toMatch(/^b\.yaml:1:1: .*circle: imago\.yaml → a\.yaml → b\.yaml → imago\.yaml$/);
  });

  test('one that is extended twice on two paths is not a cycle', async () => {
    const { recipe } = await load({
      'imago.yaml': 'name: node\nextends: [a.yaml, b.yaml]\n',
      'a.yaml': 'extends: c.yaml\nnotes: a\n',
      'b.yaml': 'extends: c.yaml\n',
      'c.yaml': 'notes: c\npackages: [jq]\n',
    });
    expect(recipe.packages).toEqual([{ name: 'jq' }]);
  });

  test('a mistake in another file is reported with that file', async () => {
    const error = await errorOf({
      'imago.yaml': 'name: node\nextends: a.yaml\n',
      'a.yaml': '\nsettngs: {}\n',
    });
    expect(error.message).toMatch(/^a\.yaml:2:1: settngs is not known/);
    expect((await errorOf('name: node\nextends: gone.yaml\n')).message).toMatch(
      /^imago\.yaml:2:1: there is no file gone/,
    );
  });

  test('what is shown can be read again, and says where each value came from', async () => {
    const files = { 'imago.yaml': 'extends: b.yaml\nname: node\n', 'b.yaml': base };
    const { recipe, tree } = await load(files);
    const text = showRecipe(tree);
    expect(text).toMatch(/^numbering: calendar # b\.yaml:1$/m);
    expect(text).toMatch(/^name: node # imago\.yaml:2$/m);
    expect((await load({ 'imago.yaml': text })).recipe).toEqual(recipe);
  });
});

describe('matrix and variables', () => {
  const text = [
    'name: node',
    'matrix: {kubernetes: [1.34.2, 1.34.3]}',
    'components:',
    '  - name: kubelet',
    `    version: \${kubernetes}`,
    `    from: {url: "http://example.test/v\${version}/\${machine}/\${name}"}`,
    '    to: /usr/bin/kubelet',
  ];

  test('one recipe declares several versions, with its variables preserved', async () => {
    const { variants } = await load({ 'imago.yaml': text.join('\n') });
    expect(variants.map(({ kubernetes }) => kubernetes)).toEqual(['1.34.2', '1.34.3']);
    expect(variants[0]?.components[0]?.version).toBe(`\${kubernetes}`);
  });

  test('an unknown variable is reported with the nearest one', async () => {
    const error = await errorOf(text.join('\n').replace('machine', 'machin'));
    expect(error.message).toMatch(/^imago\.yaml:6:12: \$\{machin\} is not a variable/);
    expect(error.hint).toBe('Did you mean `machine`?');
  });

  test('kubernetes and a matrix over it exclude each other', async () => {
    const error = await errorOf(`${text.join('\n')}\nkubernetes: 1.34.2\n`);
    expect(error.message).toMatch(/not both/);
    expect(error.hint).toContain('--kubernetes');
  });

  const chosen = (version: string) =>
    load({ 'imago.yaml': text.join('\n'), '--kubernetes': `kubernetes: ${JSON.stringify(version)}\n` }, [
      '--kubernetes',
    ]);

  test('a version that is laid over it is chosen from it, and is then what it was in it', async () => {
    const all = await load({ 'imago.yaml': text.join('\n') });
    const { recipe, variants, tree } = await chosen('1.34.3');
    expect(variants).toEqual([all.variants[1]]);
    expect(recipe).not.toHaveProperty('matrix');
    expect(showRecipe(tree)).toMatch(/^kubernetes: 1\.34\.3 # imago\.yaml:\d+$/m);
  });

  test('a version that is not in it is refused, with those that are', async () => {
    await expect(chosen('1.34.9')).rejects.toMatchObject({
      code: 'recipe-invalid',
      message: '--kubernetes:1:1: Kubernetes 1.34.9 is not in the matrix of the recipe',
      hint: expect.stringContaining('It has 1.34.2, 1.34.3.'),
    });
  });
});
