import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleFile, sampleInventory } from '../../../test/support/inventory.ts';
import type { Inventory } from '../model/inventory.ts';
import { diffInventories, isSame } from './diff.ts';
import { formatDiff } from './format.ts';
import { unintendedChanges } from './hotfix-proof.ts';

const before = sampleInventory();

function withNewRunc(change: Partial<Inventory> = {}): Inventory {
  return sampleInventory({
    packages: before.packages.map((item) =>
      item.name === 'runc' ? { ...item, version: '1:1.1.16~ds1' } : item,
    ),
    files: before.files.map((file) =>
      file.package === 'runc' ? { ...file, sha256: '1'.repeat(64), sha1: '2'.repeat(40) } : file,
    ),
    ...change,
  });
}

describe('the difference between two inventories', () => {
  it('is nothing between an inventory and itself', () => {
    expect(isSame(diffInventories(before, sampleInventory()))).toBe(true);
    expect(formatDiff(diffInventories(before, before))).toBe('Nothing differs.\n');
  });

  it('names packages, files, units, settings, images and sizes, with both sides', () => {
    const after = withNewRunc({
      units: [],
      settings: { ...before.settings, sysctl: { 'vm.swappiness': '60' }, modules: ['overlay', 'nf_tables'] },
      containerImages: before.containerImages.map((image) => ({
        ...image,
        digest: `sha256:${'9'.repeat(64)}`,
      })),
      sizes: { ...before.sizes, usedBytes: 2 ** 29 + 2 ** 20 },
    });
    const text = formatDiff(diffInventories(before, after));
    expect(text).toContain('~ runc:amd64 1:1.1.15~ds1 → 1:1.1.16~ds1');
    expect(text).toContain('- kubelet.service enabled multi-user.target');
    expect(text).toContain('~ sysctl vm.swappiness 0 → 60');
    expect(text).toContain('+ module nf_tables loaded');
    expect(text).toMatch(/~ registry\.example\.com\/pause:3\.10 sha256:c+ → sha256:9+/);
    expect(text).toContain('~ usedBytes 512 MiB → 513 MiB');
    expect(text).toContain('~ /usr/sbin/runc');
  });

  it('tells a change of owner or mode, though the content is the same', () => {
    const after = sampleInventory({
      files: before.files.map((file) => (file.path === '/etc/hosts' ? { ...file, mode: 0o666 } : file)),
    });
    expect(formatDiff(diffInventories(before, after))).toContain('~ /etc/hosts (mode)');
  });

  it('swaps new and gone when it is taken the other way round', () => {
    const path = fc.constantFrom('/a', '/b', '/c', '/d');
    const files = fc.uniqueArray(fc.record({ path, mode: fc.constantFrom(1, 2) }), {
      selector: (file) => file.path,
    });
    fc.assert(
      fc.property(files, files, (left, right) => {
        const [a, b] = [left, right].map((list) =>
          sampleInventory({ files: list.map((file) => sampleFile(file.path, { mode: file.mode })) }),
        );
        if (a === undefined || b === undefined) return;
        const turned = diffInventories(b, a).files.map(({ name, before: was, after, fields }) => ({
          name,
          fields,
          ...(after !== undefined && { before: after }),
          ...(was !== undefined && { after: was }),
        }));
        expect(diffInventories(a, b).files).toEqual(turned);
      }),
    );
  });
});

describe('a hotfix', () => {
  it('is proven when only its package and the records of it moved', () => {
    const after = withNewRunc({ release: { IMAGE: 'node', VERSION: '2' } });
    const files = [...after.files, sampleFile('/var/lib/dpkg/status'), sampleFile('/etc/imago-release')];
    expect(unintendedChanges(diffInventories(before, { ...after, files }), { packages: ['runc'] })).toEqual(
      [],
    );
  });

  it('is not proven when anything else moved, and says what', () => {
    const after = withNewRunc({
      files: [...withNewRunc().files, sampleFile('/etc/cron.d/surprise')],
      settings: { ...before.settings, sysctl: { 'vm.swappiness': '10' } },
      units: [],
    });
    expect(unintendedChanges(diffInventories(before, after), { packages: ['runc'] })).toEqual([
      'file /etc/cron.d/surprise is new',
      'unit kubelet.service is gone',
      'setting sysctl vm.swappiness changed (value)',
    ]);
    expect(unintendedChanges(diffInventories(before, withNewRunc()), { packages: ['libc6'] })).toEqual([
      'package runc:amd64 changed (version)',
      'file /usr/sbin/runc changed (sha256, sha1)',
    ]);
  });

  it('of a kernel may change the boot files that are made from it, and that of another package may not', () => {
    const kernel = { ...before.kernel, sha256: '5'.repeat(64), initrdSha256: '6'.repeat(64) };
    const files = [...before.files, sampleFile('/usr/lib/modules/6.12.0/modules.dep')];
    const diff = diffInventories(before, sampleInventory({ ...before, kernel, files }));
    expect(unintendedChanges(diff, { packages: ['linux-image-6.12.0-amd64'] })).toEqual([]);
    expect(unintendedChanges(diff, { packages: ['runc'] })).toEqual([
      'file /usr/lib/modules/6.12.0/modules.dep is new',
      'setting initrd sha256 changed (value)',
      'setting kernel sha256 changed (value)',
    ]);
  });

  it('of a tree may not change what something else has below it', () => {
    const after = sampleInventory({
      files: [...before.files, sampleFile('/opt/tree/a'), sampleFile('/opt/tree/inner/b')],
    });
    const diff = diffInventories(before, after);
    expect(unintendedChanges(diff, { places: ['/opt/tree'] })).toEqual([]);
    expect(unintendedChanges(diff, { places: ['/opt/tree'], others: ['/opt/tree/inner'] })).toEqual([
      'file /opt/tree/inner/b is new',
    ]);
    expect(unintendedChanges(diff, { places: ['/opt/tree/inner'], others: ['/opt/tree'] })).toEqual([
      'file /opt/tree/a is new',
    ]);
  });

  it('whose place holds its version may leave the old place with its folders', () => {
    const tool = (version: string) =>
      sampleInventory({
        files: [
          ...before.files,
          sampleFile(`/opt/tool-${version}`, { type: 'directory' }),
          sampleFile(`/opt/tool-${version}/bin`, { type: 'directory' }),
          sampleFile(`/opt/tool-${version}/bin/tool`),
        ],
      });
    const places = ['/opt/tool-1/bin/tool', '/opt/tool-2/bin/tool'];
    const diff = diffInventories(tool('1'), tool('2'));
    expect(unintendedChanges(diff, { places })).toEqual([]);
    expect(unintendedChanges(diff, { places: places.slice(1) })).not.toEqual([]);
  });

  it('of a file may change the time of the folders above it, and nothing else about them', () => {
    const folder = (change: object) =>
      sampleInventory({ files: [sampleFile('/opt', { type: 'directory', ...change })] });
    const diff = (change: object) => diffInventories(folder({}), folder(change));
    expect(unintendedChanges(diff({ mtime: 1 }), { places: ['/opt/tool'] })).toEqual([]);
    expect(unintendedChanges(diff({ mode: 0o777 }), { places: ['/opt/tool'] })).toEqual([
      'file /opt changed (mode)',
    ]);
  });
});
