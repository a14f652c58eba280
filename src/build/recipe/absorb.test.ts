import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { sampleFile, sampleInventory } from '../../../test/support/inventory.ts';
import { recipeProblems } from '../../domain/recipe/problems.ts';
import { recipeSchema } from '../../domain/recipe/schema.ts';
import { diffInventories } from '../../inventory/diff/diff.ts';
import type { Inventory } from '../../inventory/model/inventory.ts';
import { absorb } from './absorb.ts';

const text = '# Nodes of the shop.\nname: node # not renamed\npackages:\n  - curl\n';
const before = sampleInventory();
const [libc] = before.packages;

function captured(change: Partial<Inventory>, skip: readonly string[] = [], given = text) {
  const recipe = recipeSchema.parse(parse(given)) as never;
  return absorb({
    ...{ recipe, text: given, skip, diff: diffInventories(before, sampleInventory(change)) },
    independent: async (names) => new Set(names.filter((name) => !name.startsWith('lib'))),
    texts: async (paths) =>
      new Map(paths.filter((path) => path !== '/opt/blob').map((path) => [path, `${path}\n`])),
  });
}

function added(name: string, version = '1') {
  if (libc === undefined) throw new Error('the sample has no package');
  return { ...libc, name, version };
}

test('packages that others need come along, and upgrades are in the lock', async () => {
  const packages = [...before.packages.slice(1), added('libc6', '3'), added('tcpdump'), added('libpcap0.8')];
  const { text: edited, changes } = await captured({ packages });
  expect(edited).toBe('# Nodes of the shop.\nname: node # not renamed\npackages:\n  - curl\n  - tcpdump\n');
  expect(changes).toEqual([
    'Package tcpdump 1, in packages',
    'Package libc6: 2.41-12+deb13u1 → 3, in the lock',
  ]);
});

test('images, kernel parameters, modules, and files become what a recipe accepts', async () => {
  const digest = `sha256:${'1'.repeat(64)}`;
  const image = {
    name: 'registry.example.com/web:1',
    digest,
    sizeBytes: 1,
    platform: 'linux/amd64',
    isPinned: true,
  };
  const { settings } = before;
  const { text: edited, left } = await captured({
    containerImages: [...before.containerImages, image],
    settings: {
      ...settings,
      sysctl: { ...settings.sysctl, 'net.core.somaxconn': '4096' },
      modules: [...settings.modules, 'dummy'],
      users: [
        ...settings.users,
        { name: 'eve', uid: 1000, gid: 1000, home: '/', shell: '/bin/sh', hasPassword: false },
      ],
    },
    files: [
      ...before.files,
      sampleFile('/etc/motd.d/shop', { mode: 0o755 }),
      sampleFile('/etc/sysctl.d/50-shop.conf'),
      sampleFile('/etc/passwd'),
      sampleFile('/etc/tcpdump.conf', { package: 'tcpdump' }),
      sampleFile('/opt/blob'),
      sampleFile('/var/lib/state'),
    ],
  });
  const recipe = recipeSchema.parse(parse(edited));
  expect(recipe.images).toEqual([{ name: image.name, from: { registry: image.name, digest }, pinned: true }]);
  expect(recipe.settings).toMatchObject({
    sysctl: { 'net.core.somaxconn': '4096' },
    modules: [{ name: 'dummy' }],
    files: [{ path: '/etc/motd.d/shop', content: '/etc/motd.d/shop\n', mode: '0755' }],
  });
  expect(left).toEqual([
    'Setting user eve is 1000 1000 / /bin/sh no password.',
    'File /opt/blob is not a short text.',
  ]);
});

test('the content of a file that not everyone on the node can read stays out of the recipe', async () => {
  const files = [...before.files, sampleFile('/etc/shop.key', { mode: 0o640 })];
  expect(await captured({ files })).toEqual({
    text,
    changes: [],
    left: ['File /etc/shop.key can hold a secret: not everyone can read it.'],
  });
});

test('what is skipped is neither added nor reported', async () => {
  const packages = [...before.packages, added('tcpdump')];
  const files = [...before.files, sampleFile('/opt/blob')];
  expect(await captured({ packages, files }, ['tcpdump', '/opt/blob'])).toEqual({
    text,
    changes: [],
    left: [],
  });
});

test('absorbing again changes nothing, and a file of the recipe is not written twice', async () => {
  const digest = `sha256:${'1'.repeat(64)}`;
  const image = { name: 'example.com/web:1', digest, sizeBytes: 1, platform: 'linux/amd64', isPinned: true };
  const [unit] = before.units;
  if (unit === undefined) throw new Error('the sample has no unit');
  const change: Partial<Inventory> = {
    packages: [...before.packages, added('tcpdump')],
    containerImages: [...before.containerImages, image],
    settings: { ...before.settings, modules: [...before.settings.modules, 'dummy'] },
    units: [{ ...unit, state: 'masked' }, ...before.units.slice(1)],
    files: [...before.files, sampleFile('/etc/motd.d/shop'), sampleFile('/etc/motd.d/new')],
  };
  const own = `${text}settings:\n  files:\n    - path: /etc/motd.d/shop\n      content: closed\n`;
  const { text: edited, changes } = await captured(change, [], own);
  expect(changes).toHaveLength(6);
  expect(recipeProblems(recipeSchema.parse(parse(edited)) as never)).toEqual([]);
  expect(await captured(change, [], edited)).toEqual({ text: edited, changes: [], left: [] });
});
