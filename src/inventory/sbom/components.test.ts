import { describe, expect, it } from 'vitest';
import { sampleFile, sampleInput, sampleInventory, sampleLock } from '../../../test/support/inventory.ts';
import type { Inventory } from '../model/inventory.ts';
import { componentsWithFiles, componentUrl, sbomComponents } from './components.ts';
import { imageUrl, sbomFiles } from './subject.ts';

const tar = (name: string, to: string) => ({ name, version: '1.0.0', from: { tar: `${name}.tar` }, to });

const lock = sampleLock(
  {
    components: [
      {
        name: 'engine',
        versions: ['1.0.0', '1.1.0'],
        from: { file: 'engine' },
        to: `/opt/engine/\${version}/run`,
      },
      tar('plugins', '/opt/plugins'),
      tar('shared', '/etc'),
      tar('twin-a', '/opt/twins'),
      tar('twin-b', '/opt/twins'),
      { name: 'runc', from: { package: 'runc' } },
      { name: 'hush', version: '7.7.7', from: { file: 'hush' }, to: '/opt/hush', private: true },
    ],
  },
  [
    sampleInput('binary', 'engine', { version: '1.0.0' }),
    sampleInput('binary', 'engine', { version: '1.1.0' }),
    sampleInput('binary', 'hush', { version: '7.7.7', private: true }),
    ...['imago-agent', 'plugins', 'shared', 'twin-a', 'twin-b'].map((name) => sampleInput('files', name)),
    sampleInput('package', 'runc'),
  ],
);

const inventory: Inventory = sampleInventory({
  files: [
    sampleFile('/etc/hosts'),
    sampleFile('/etc/runc.conf', { package: 'runc' }),
    sampleFile('/opt/engine/1.0.0/run'),
    sampleFile('/opt/engine/1.1.0/run'),
    sampleFile('/opt/hush'),
    sampleFile('/opt/plugins/bridge'),
    sampleFile('/opt/plugins-of-another'),
    sampleFile('/opt/twins/one'),
    sampleFile('/usr/bin/imago-agent'),
    sampleFile('/usr/lib/imago/agent.js'),
    sampleFile('/usr/lib/imago/components'),
  ],
});

const secrets = [{ alias: 'private-1', names: ['hush'], places: ['/opt/hush'] }];

function told() {
  const { components, rest } = componentsWithFiles(
    sbomComponents(lock, inventory, secrets),
    sbomFiles(inventory).others,
  );
  const files = components.map(({ item, files: own }) => [componentUrl(item), own.map(({ path }) => path)]);
  return { files: Object.fromEntries(files), rest: rest.map(({ path }) => path) };
}

describe("the recipe's components in an SBOM", () => {
  it('are named with their versions and with the files that are surely theirs', () => {
    expect(told().files).toEqual({
      'pkg:generic/engine@1.0.0': ['/opt/engine/1.0.0/run'],
      'pkg:generic/engine@1.1.0': ['/opt/engine/1.1.0/run'],
      'pkg:generic/imago-agent@1.0.0': ['/usr/bin/imago-agent', '/usr/lib/imago/agent.js'],
      'pkg:generic/plugins@1.0.0': ['/opt/plugins/bridge'],
      'pkg:generic/shared@1.0.0': [],
      'pkg:generic/twin-a@1.0.0': [],
      'pkg:generic/twin-b@1.0.0': [],
    });
  });

  it('leave every other file as it was: those of private ones, of no component, and of a directory that several use', () => {
    expect(told().rest).toEqual([
      '/etc/hosts',
      '/opt/hush',
      '/opt/plugins-of-another',
      '/opt/twins/one',
      '/usr/lib/imago/components',
    ]);
  });

  it('have package URLs in the canonical form: a colon is not percent-encoded', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const image = { name: 'registry.example.com:5000/tools/Pause:3.10', digest, sizeBytes: 1, platform: '' };
    expect(imageUrl({ ...image, isPinned: false })).toBe(
      `pkg:oci/pause@${digest}?repository_url=registry.example.com:5000%2Ftools%2FPause&tag=3.10`,
    );
    expect(imageUrl({ ...image, name: `registry.example.com/pause@${digest}`, isPinned: false })).toBe(
      `pkg:oci/pause@${digest}?repository_url=registry.example.com%2Fpause`,
    );
    const [engine] = sbomComponents(lock, inventory, secrets);
    expect(engine && componentUrl({ ...engine, version: '1:2.0' })).toBe('pkg:generic/engine@1:2.0');
  });

  it('are unknown without a lock', () => {
    expect(sbomComponents(undefined, inventory, [])).toEqual([]);
  });
});
