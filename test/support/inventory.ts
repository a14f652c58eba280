// A small inventory and a lock for tests, each to be changed where a test cares.
import type { Lock, LockedInput } from '../../src/domain/lock/lock.ts';
import type { Recipe } from '../../src/domain/recipe/recipe.ts';
import type { Inventory, InventoryFile } from '../../src/inventory/model/inventory.ts';

export function sampleFile(path: string, change: Partial<InventoryFile> = {}): InventoryFile {
  return {
    path,
    type: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 10,
    mtime: 1_750_000_000,
    sha256: 'a'.repeat(64),
    sha1: 'b'.repeat(40),
    ...change,
  };
}

export function sampleInventory(change: Partial<Inventory> = {}): Inventory {
  return {
    format: 1,
    os: 'linux',
    system: 'Debian GNU/Linux 13 (trixie)',
    distribution: 'debian',
    release: { IMAGE: 'node' },
    kernel: {
      version: '6.12.0',
      installed: ['6.12.0'],
      sha256: '3'.repeat(64),
      initrdSha256: '4'.repeat(64),
    },
    sizes: { diskBytes: 2 ** 31, rootBytes: 2 ** 30, usedBytes: 2 ** 29, fileBytes: 2 ** 28 },
    packages: [
      {
        name: 'libc6',
        version: '2.41-12+deb13u1',
        architecture: 'amd64',
        source: 'glibc',
        sourceVersion: '2.41-12',
        maintainer: 'GNU Libc Maintainers <libc@example.com>',
        homepage: 'https://example.com/libc',
        installedBytes: 13_000_000,
      },
      {
        name: 'runc',
        version: '1:1.1.15~ds1',
        architecture: 'amd64',
        source: 'runc',
        sourceVersion: '1:1.1.15~ds1',
        maintainer: '',
        homepage: 'not an address',
        installedBytes: 9_000_000,
      },
    ],
    files: [
      sampleFile('/etc/hosts'),
      sampleFile('/usr/lib', { type: 'directory', size: 0 }),
      sampleFile('/usr/lib/libc.so.6', { package: 'libc6' }),
      sampleFile('/usr/sbin/runc', { package: 'runc', mode: 0o755 }),
      sampleFile('/var/lib/containerd/blob'),
    ],
    units: [
      {
        name: 'kubelet.service',
        state: 'enabled',
        path: '/usr/lib/systemd/system/kubelet.service',
        wantedBy: ['multi-user.target'],
        dropIns: [],
      },
    ],
    settings: {
      sysctl: { 'vm.swappiness': '0' },
      modules: ['overlay'],
      kernelArguments: ['quiet'],
      users: [{ name: 'root', uid: 0, gid: 0, home: '/root', shell: '/bin/sh', hasPassword: false }],
      groups: [{ name: 'root', gid: 0, members: [] }],
    },
    containerImages: [
      {
        name: 'registry.example.com/pause:3.10',
        digest: `sha256:${'c'.repeat(64)}`,
        sizeBytes: 300_000,
        platform: 'linux/amd64',
        isPinned: true,
      },
    ],
    ...change,
  };
}

export const sampleSubject = {
  image: 'node',
  version: '1.34.2',
  digest: `sha256:${'d'.repeat(64)}`,
  diskSha256: 'e'.repeat(64),
  created: '2026-01-01T00:00:00.000Z',
  tool: '0.1.0',
} as const;

const sources: { readonly [kind in LockedInput['kind']]?: (name: string) => string } = {
  package: (name) => `debian:pool/${name}.deb`,
  index: (name) => `debian:dists/${name}`,
};

export function sampleInput(
  kind: LockedInput['kind'],
  name: string,
  change: Partial<LockedInput> = {},
): LockedInput {
  return {
    kind,
    name,
    version: '1.0.0',
    sha256: 'f'.repeat(64),
    sizeBytes: 1000,
    source: sources[kind]?.(name) ?? `https://downloads.example.com/${name}`,
    ...change,
  };
}

export function sampleLock(recipe: Partial<Recipe> = {}, inputs: readonly LockedInput[] = []): Lock {
  return {
    format: 1,
    rules: 1,
    epoch: 1_767_225_600,
    recipe: {
      name: 'node',
      numbering: 'semver',
      os: 'linux',
      architecture: 'x64',
      components: [],
      settings: {},
      ...recipe,
    },
    inputs,
  };
}
