import { describe, expect, test } from 'vitest';
import { checkRecipe, recipeProblems } from './problems.ts';
import type { RecipeSettings } from './recipe.ts';
import { isRestricted, type Recipe, type RecipeComponent } from './recipe.ts';

const kubelet: RecipeComponent = {
  name: 'kubelet',
  version: '1.34.2',
  from: { url: 'https://example.test/kubelet', sha256: 'a'.repeat(64) },
  to: '/usr/bin/kubelet',
};
const good: Recipe = {
  name: 'node',
  numbering: 'kubernetes',
  os: 'linux',
  architecture: 'x64',
  kubernetes: '1.34.2',
  components: [kubelet, { name: 'containerd', version: '1.7.24' }],
  settings: {},
};

function problems(change: Partial<Recipe>): string[] {
  return recipeProblems({ ...good, ...change }).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function withComponents(...components: Partial<RecipeComponent>[]): string[] {
  return problems({ components: components.map((component) => ({ ...kubelet, ...component })) });
}

test('a good recipe has no problems', () => {
  expect(recipeProblems(good)).toEqual([]);
  expect(() => checkRecipe(good)).not.toThrow();
});

test('the first problem is the message, and all are told', () => {
  expect(() => checkRecipe({ ...good, name: 'Node', kubernetes: '1.34' })).toThrow(
    expect.objectContaining({
      code: 'recipe-invalid',
      message: expect.stringMatching(/^name: .*\(and 1 more\)$/),
      details: {
        problems: [
          expect.objectContaining({ path: ['name'] }),
          expect.objectContaining({ path: ['kubernetes'] }),
        ],
      },
    }),
  );
});

describe('Kubernetes', () => {
  test('is needed by the policies that number after it', () => {
    const { kubernetes: _, ...without } = good;
    expect(recipeProblems(without)).toHaveLength(1);
    expect(recipeProblems({ ...without, numbering: 'calendar' })).toEqual([]);
  });

  test('is a released version', () => {
    expect(recipeProblems({ ...good, kubernetes: '1.34' })[0]?.hint).toBe('Did you mean `1.34.0`?');
    expect(problems({ kubernetes: 'newest' })).toHaveLength(1);
  });
});

test('an image for arm64 is not begun where its boot loader is not to be had', () => {
  expect(problems({ architecture: 'arm64' })).toEqual([
    'architecture: images for arm64 cannot be assembled: Imago has the boot loaders of x64 alone',
  ]);
  const base = { image: 'debian-13' };
  const onMachine = {
    method: 'machine',
    base,
    components: [],
    packages: [],
    images: [],
    settings: {},
  } as const;
  expect(problems({ architecture: 'arm64', ...onMachine })).toEqual([]);
  expect(problems({ ...onMachine, settings: { hostname: 'x' } as object })).toEqual([
    'settings: are applied only with `method: assemble`',
  ]);
});

describe('two components on one path', () => {
  test.each([
    ['the same path', {}, {}],
    ['the same path with more slashes', {}, { to: '/usr//bin/kubelet/' }],
    ['a path below a file', {}, { to: '/usr/bin/kubelet/config' }],
    ['a file on the way to another', { to: '/opt/x/y' }, { to: '/opt/x' }],
  ])('%s', (_, first, second) => {
    expect(withComponents(first, { name: 'other', ...second })).toEqual([
      expect.stringMatching(/^components\.1\.to: other and kubelet would stand on one path/),
    ]);
  });

  test('trees may lie inside each other, and a file inside a tree', () => {
    const tree = { name: 'cni', from: { tar: 'cni.tar' }, to: '/opt/cni' } as const;
    expect(withComponents(tree, { ...tree, name: 'more', to: '/opt/cni/bin' })).toEqual([]);
    expect(withComponents(tree, { to: '/opt/cni/bin/kubelet' })).toEqual([]);
  });

  test('a file of the settings or of another component', () => {
    const files = [{ path: '/usr/bin/kubelet', content: '' }];
    expect(problems({ settings: { files } })).toEqual([
      expect.stringMatching(/^settings\.files\.0: .*one path/),
    ]);
    expect(withComponents({ config: files })).toEqual([expect.stringMatching(/one path/)]);
  });

  test('a unit of a component, of the settings, or a file where a unit goes', () => {
    const unit = { content: '[Service]' };
    const path = '/etc/systemd/system/kubelet.service';
    expect(
      withComponents({ unit }, { name: 'other', to: '/o', unit: { ...unit, name: 'kubelet.service' } }),
    ).toEqual([
      expect.stringMatching(
        /^components\.1\.unit: the unit of other and the unit of kubelet would stand on one path/,
      ),
    ]);
    expect(withComponents({ unit }, { name: 'other', to: path })).toHaveLength(1);
    const components = [{ ...kubelet, unit }];
    const file = { path, content: '' };
    const named = { name: 'kubelet.service', ...unit };
    expect(problems({ components, settings: { files: [file] } })).toEqual([
      expect.stringMatching(/^settings\.files\.0: .*the unit of kubelet/),
    ]);
    expect(problems({ components, settings: { units: [named] } })).toEqual([
      expect.stringMatching(/^settings\.units\.0: .*the unit of kubelet/),
    ]);
    expect(problems({ settings: { files: [file], units: [named] } })).toHaveLength(1);
    const dropIn = { path: `${path}.d/50-imago.conf`, content: '' };
    const laid = { name: 'kubelet.service', dropIn: '[Service]' };
    expect(problems({ settings: { files: [dropIn], units: [laid] } })).toHaveLength(1);
  });

  test('what the settings say about the unit of a component is no second unit', () => {
    const components = [{ ...kubelet, unit: { content: '[Service]' } }];
    for (const state of ['enabled', 'disabled', 'masked'] as const) {
      expect(problems({ components, settings: { units: [{ name: 'kubelet.service', state }] } })).toEqual([]);
    }
  });

  test('/bin and /usr/bin are one folder', () => {
    expect(withComponents({}, { name: 'other', to: '/bin/kubelet' })).toHaveLength(1);
  });

  test.each([
    ['/etc/imago-release', "Imago's record of the image"],
    ['/usr/lib/imago/agent.js', "Imago's agent"],
    ['/lib/imago/components/kubelet.json', "Imago's agent"],
    ['/usr/bin/imago-agent', "Imago's agent"],
    ['/etc/systemd/system/imago-agent.service', "Imago's agent"],
    ['/etc/fstab', 'the mount of the root'],
  ])('%s is not for recipes, and its owner is named', (path, owner) => {
    expect(withComponents({ to: path })).toEqual([expect.stringContaining(`kubelet and ${owner}`)]);
    const files = [{ path, content: '' }];
    expect(problems({ settings: { files } })).toEqual([
      expect.stringMatching(new RegExp(`^settings\\.files\\.0: .*${owner}`)),
    ]);
  });

  test('names that only begin alike are two paths', () => {
    expect(withComponents({}, { name: 'other', to: '/usr/bin/kubelet-1.35' })).toEqual([]);
  });

  test('on Windows case and the kind of slash do not count', () => {
    const change = {
      os: 'windows' as const,
      method: 'machine' as const,
      base: { image: 'windows-2022' },
      components: [
        { ...kubelet, to: 'C:\\k\\kubelet.exe' },
        { ...kubelet, name: 'other', to: 'c:/K/Kubelet.exe' },
      ],
    };
    expect(problems(change)).toHaveLength(1);
  });
});

describe('destinations stay where they say', () => {
  test.each(['usr/bin/x', '/usr/../etc/x', '/./x', '/', '//', '/a\nb', '', 'C:\\x'])(
    '%j is refused',
    (to) => {
      expect(withComponents({ to })).toHaveLength(1);
    },
  );

  test.each(['/x', '\\x', 'C:', 'C:\\', 'C:\\a\\..\\b'])('%j is refused on Windows', (to) => {
    const windows = { os: 'windows', method: 'machine', base: { image: 'x' } } as const;
    expect(problems({ ...windows, components: [{ ...kubelet, to }] })).toHaveLength(1);
  });
});

describe('components say what they are', () => {
  test.each<[string, Partial<RecipeComponent>]>([
    ['an empty version, which a missing variable leaves behind', { version: '' }],
    ['a version of spaces', { version: '  ' }],
    ['a version with a slash', { version: '1/2' }],
    ['an empty name', { name: '' }],
    ['a sha256 that is cut short', { from: { url: 'https://x', sha256: 'abc' } }],
    ['a sha256 in upper case', { from: { url: 'https://x', sha256: 'A'.repeat(64) } }],
    [
      'a sha256 for other versions only',
      { from: { url: 'https://x', sha256: { '1.34.3': 'a'.repeat(64) } } },
    ],
    ['an address that is none', { from: { url: 'ftp://x' } }],
    ['a destination for a package', { from: { package: 'kubelet' } }],
    ['a mode that is not octal', { mode: '0999' }],
    ['a mode for a tree', { from: { folder: 'x' }, mode: '0755' }],
    ['a mode for an archive', { from: { tar: 'x' }, mode: '0755' }],
    ['a unit without text', { unit: {} }],
    ['a unit with a wrong name', { unit: { name: 'kubelet', content: 'x' } }],
    ['a config file with two texts', { config: [{ path: '/etc/x', content: '', file: 'x' }] }],
    ['an owner that is not USER:GROUP', { config: [{ path: '/etc/x', content: '', owner: 'root' }] }],
    ['an update rule without a group', { updates: { page: 'https://x', pattern: 'v.*' } }],
    ['an update rule that is no expression', { updates: { page: 'https://x', pattern: '(' } }],
    ['a pick without versions', { pick: { link: '/x', default: '1' } }],
  ])('%s is refused', (_, change) => {
    expect(withComponents(change)).toHaveLength(1);
  });

  test('the files of an artifact may have a mode', () => {
    expect(withComponents({ from: { oci: 'example.test/kubelet:1' }, mode: '0640' })).toEqual([]);
  });

  test('what is fetched needs a version and a place', () => {
    expect(problems({ components: [{ name: 'x', from: { url: 'https://x' } }] })).toEqual([
      'components.0.version: x: needs a version',
      'components.0.to: x: what comes from `url` needs a place: `to`',
    ]);
    expect(problems({ components: [{ name: 'jq' }] })).toEqual([]);
  });

  test('the same name twice is refused', () => {
    expect(withComponents({}, { to: '/other' })).toEqual([
      'components.1: the component kubelet is listed twice',
    ]);
  });

  test('versions side by side need a place each, a link and a default among them', () => {
    const several = {
      versions: ['1.34.2', '1.34.3'],
      from: { url: `https://x/\${version}` },
      to: `/opt/kubelet/\${version}`,
      pick: { link: '/usr/bin/kubelet', default: '1.34.3' },
    };
    const { version: _, ...rest } = kubelet;
    const check = (change: Partial<RecipeComponent>) =>
      problems({ components: [{ ...rest, ...several, ...change }] });
    expect(check({})).toEqual([]);
    expect(check({ pick: { link: '/usr/bin/kubelet', default: '1.33.0' } })).toHaveLength(1);
    expect(check({ to: '/opt/kubelet' })).toContainEqual(expect.stringMatching(/a place each/));
    expect(check({ versions: [] })).toContainEqual(expect.stringMatching(/has no version/));
    expect(check({ version: '1' })).toContainEqual(expect.stringMatching(/`version` and `versions`/));
  });
});

describe('settings', () => {
  test.each<[string, RecipeSettings]>([
    ['a kernel parameter with a line break', { sysctl: { 'a.b': '1\n2' } }],
    ['a kernel parameter that is none', { sysctl: { forward: 1 } }],
    ['a module with a slash', { modules: [{ name: '../x' }] }],
    ['a unit without a suffix', { units: [{ name: 'ssh', state: 'enabled' }] }],
    ['a unit that says nothing', { units: [{ name: 'ssh.service' }] }],
    ['a masked unit with a text', { units: [{ name: 'ssh.service', state: 'masked', content: 'x' }] }],
    ['a user with a colon', { users: [{ name: 'a:b' }] }],
    ['a key that is none', { users: [{ name: 'a', authorizedKeys: ['-----BEGIN PRIVATE KEY-----'] }] }],
    [
      'a uid twice',
      {
        users: [
          { name: 'a', uid: 5 },
          { name: 'b', uid: 5 },
        ],
      },
    ],
    ['a file without text', { files: [{ path: '/etc/x' }] }],
    ['an argument with a space', { kernelArguments: ['a b'] }],
    ['an argument that moves the root', { kernelArguments: ['root=/dev/sda'] }],
    ['an unknown limit', { limits: { nofiles: 1 } }],
    ['a time zone with dots', { time: { zone: '../../etc/passwd' } }],
    ['a trust anchor with a slash', { trust: [{ name: 'a/b', content: 'x' }] }],
  ])('%s is refused', (_, settings) => {
    expect(problems({ settings })).toHaveLength(1);
  });
});

describe('operating systems and methods', () => {
  test('Windows is built on a machine, from an image', () => {
    expect(problems({ os: 'windows', components: [] })).toEqual(['os: Windows cannot be assembled offline']);
    expect(problems({ os: 'windows', method: 'machine', components: [] })).toEqual([
      expect.stringMatching(/^base: needs an `image`/),
    ]);
  });

  test('what belongs to the other one is refused', () => {
    expect(problems({ windows: { features: ['Containers'] } })).toHaveLength(1);
    expect(problems({ steps: [{ name: 'a', run: 'b' }] })).toHaveLength(1);
    const windows = { os: 'windows', method: 'machine', base: { image: 'x' }, components: [] } as const;
    expect(problems({ ...windows, packages: [{ name: 'jq' }] })).toHaveLength(1);
    expect(problems({ ...windows, settings: { sysctl: { 'a.b': 1 } } })).toHaveLength(1);
    expect(problems({ ...windows, settings: { sim: {} } })).toEqual([]);
  });
});

test('container images have a registry and a tag', () => {
  const images = ['example.com/pause', 'pause:3.10', 'example.com/Pause:1', 'localhost:5000/pause:3.10'].map(
    (name) => ({
      name,
    }),
  );
  expect(problems({ images }).map((text) => text.split(':')[0])).toEqual([
    'images.0.name',
    'images.1.name',
    'images.2.name',
  ]);
});

test('what the checks let pass is named once, programs by their paths', () => {
  expect(problems({ expect: { ports: [9100, 53], setuid: ['/opt/tool', '/usr/bin/x'] } })).toEqual([]);
  expect(
    problems({ expect: { ports: [9100, 9100], setuid: ['tool', '/opt/../x', '/opt/a/', '/a', '/a'] } }),
  ).toEqual([
    'expect.ports.1: the port 9100 is listed twice',
    'expect.setuid.0: "tool" is not the absolute path of a program',
    'expect.setuid.1: "/opt/../x" is not the absolute path of a program',
    'expect.setuid.2: "/opt/a/" is not the absolute path of a program',
    'expect.setuid.4: the program /a is listed twice',
  ]);
});

test('disks are whole MiB and not tiny', () => {
  expect(problems({ disk: { sizeBytes: 2 ** 30 } })).toEqual([]);
  expect(problems({ disk: { sizeBytes: 2 ** 30 + 512 } })).toHaveLength(1);
  expect(problems({ disk: { sizeBytes: 2 ** 20 } })).toHaveLength(1);
});

test('a private input makes versions restricted', () => {
  expect(isRestricted(good)).toBe(false);
  expect(isRestricted({ ...good, components: [{ ...kubelet, private: true }] })).toBe(true);
  expect(isRestricted({ ...good, images: [{ name: 'example.com/x:1', private: true }] })).toBe(true);
  const patch = { kb: 'KB5031364', class: 'B', url: 'https://x', private: true } as const;
  expect(isRestricted({ ...good, windows: { patches: [patch] } })).toBe(true);
});
