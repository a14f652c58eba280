// What is on a sealed disk, told from the disk alone, and judged by dpkg-query and by hashes of the content.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { encodeGpt } from '../../src/disk/gpt/table.ts';
import { tarEntry, tarFile } from '../../src/disk/tar/writer.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import type { FileHashes } from '../../src/inventory/hash-files.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { readInventory } from '../../src/inventory/read-inventory.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { openDisk } from '../../src/oci/disks/open-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { fakeBoot } from '../support/assemble-disk.ts';
import { bufferSource } from '../support/buffer-source.ts';
import { makeExt4Image } from '../support/ext4-image.ts';
import { makeNodeDisk } from '../support/node-disk.ts';

let folder: string;
let path: string;
let inventory: Inventory;

beforeAll(async () => {
  await fetchTools({ group: 'disk' });
  folder = await mkdtemp(join(tmpdir(), 'imago-inventory-'));
  path = (await makeNodeDisk(folder)).path;
  inventory = await inventoryOf(path);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function inventoryOf(disk: string): Promise<Inventory> {
  const source = await openFileSource(disk);
  try {
    return await readInventory(source);
  } finally {
    await source.close();
  }
}

describe('the inventory of a sealed disk', () => {
  it('says what it is and what starts it', () => {
    expect(inventory).toMatchObject({
      os: 'linux',
      system: 'Debian GNU/Linux 13 (trixie)',
      distribution: 'debian',
      release: { IMAGE: 'node', VERSION: '1.34.2' },
      kernel: {
        version: '6.12.0-test',
        installed: ['6.12.0-test'],
        sha256: createHash('sha256').update(fakeBoot.kernel).digest('hex'),
      },
    });
    expect(inventory.settings.kernelArguments).toEqual(expect.arrayContaining(['console=ttyS0', 'quiet']));
  });

  it('has the packages that are installed, and whose file is whose, across the merged /usr', () => {
    expect(inventory.packages.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'libc6 2.41-12',
      'runc 1.1.15',
    ]);
    expect(inventory.files.find((file) => file.path === '/usr/sbin/runc')).toMatchObject({
      package: 'runc',
      mode: 0o755,
      sha256: createHash('sha256').update('runc 1.1.15').digest('hex'),
      sha1: createHash('sha1').update('runc 1.1.15').digest('hex'),
    });
  });

  it('tells what is started, by whom, and what is masked', () => {
    const states = Object.fromEntries(
      inventory.units.map(({ name, state, wantedBy }) => [name, [state, ...wantedBy]]),
    );
    expect(states).toMatchObject({
      'kubelet.service': ['enabled', 'multi-user.target'],
      'ssh.service': ['disabled'],
      'static.service': ['static', 'sockets.target'],
      'getty@tty1.service': ['enabled', 'getty.target'],
      'getty@.service': ['disabled'],
      'apt-daily.timer': ['masked'],
      'dbus-broker.service': ['enabled'],
      'dbus.service': ['alias'],
      'old-name.service': ['alias'],
      'imago-grow-root.service': ['static', 'local-fs.target'],
    });
    expect(inventory.units.find(({ name }) => name === 'kubelet.service')?.dropIns).toEqual([
      '/etc/systemd/system/kubelet.service.d/10-node.conf',
    ]);
  });

  it('tells the settings that win, and never a password', () => {
    expect(inventory.settings).toMatchObject({
      sysctl: { 'kernel.pid_max': '4194304', 'net.ipv4.ip_forward': '1', 'vm.swappiness': '0' },
      modules: ['br_netfilter', 'overlay'],
      users: [
        { name: 'admin', uid: 1000, hasPassword: true },
        { name: 'nobody', hasPassword: false },
        { name: 'root', hasPassword: false },
      ],
      groups: [{ name: 'root' }, { name: 'sudo', members: ['admin'] }],
    });
    expect(inventory.settings.sysctl).not.toHaveProperty('overridden.by.etc');
    expect(JSON.stringify(inventory)).not.toContain('secret-hash');
  });

  it("has the names in containerd's store", () => {
    expect(inventory.containerImages).toHaveLength(60);
    expect(inventory.containerImages[0]).toMatchObject({
      name: 'registry.example.com/images/number-0:1.0',
      digest: `sha256:${'1'.padStart(64, '0')}`,
      isPinned: true,
    });
  });

  it('is the same from the chunk store as from the file', async () => {
    const store = await openDiskStore(join(folder, 'store'));
    try {
      const stored = await putDisk(store, path);
      const disk = await openDisk(store, stored.digest);
      expect(await readInventory(disk)).toEqual(inventory);
      await disk.close();
    } finally {
      await store.close();
    }
  });

  it('hashes nothing again that the version before had, and says the same', async () => {
    const store = await openDiskStore(join(folder, 'store'));
    try {
      const { digest } = await putDisk(store, path);
      const named = new Map<string, FileHashes>();
      const first = await openDisk(store, digest);
      expect(await readInventory(first, { named })).toEqual(inventory);
      await first.close();
      const marked = new Map(
        [...named].map(([name, hashes]) => [name, { ...hashes, sha1: 'remembered' }] as const),
      );
      const again = await openDisk(store, digest);
      const { files } = await readInventory(again, { known: marked });
      await again.close();
      const filled = files.filter(({ type, size }) => type === 'file' && size > 0);
      expect(filled.length).toBeGreaterThan(10);
      expect(filled.filter(({ sha1 }) => sha1 !== 'remembered')).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it('is refused for a disk without a partition table, and for one that is cancelled', async () => {
    const source = await openFileSource(join(folder, 'store', 'index.json'));
    await expect(readInventory(source)).rejects.toMatchObject({ code: 'gpt-invalid' });
    await source.close();
    const disk = await openFileSource(path);
    await expect(readInventory(disk, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    });
    await disk.close();
  });
});

describe('a disk that somebody else made', () => {
  it('is read from the partition that has an /etc, though nothing says that it is the root', async () => {
    const boot = await readFile(
      await makeExt4Image(folder, 'boot', [{ entry: tarEntry('', { type: 'directory' }) }], {
        megabytes: 16,
      }),
    );
    const root = await readFile(
      await makeExt4Image(
        folder,
        'root',
        [{ entry: tarEntry('etc', { type: 'directory' }) }, tarFile('etc/os-release', 'ID=other\n')],
        { megabytes: 16 },
      ),
    );
    const mebibyte = 1024 * 1024;
    const disk = Buffer.alloc(36 * mebibyte);
    const partition = (number: number) => ({
      number,
      type: '0fc63daf-8483-4772-8e79-3d69d8477de4',
      guid: `00000000-0000-0000-0000-00000000000${number}`,
      firstSector: ((number - 1) * 16 + 1) * 2048,
      lastSector: (number * 16 + 1) * 2048 - 1,
      attributes: 0n,
      name: '',
    });
    const table = encodeGpt(disk.length, '00000000-0000-0000-0000-000000000009', [
      partition(1),
      partition(2),
    ]);
    table.primary.copy(disk);
    table.backup.copy(disk, table.backupOffset);
    boot.copy(disk, mebibyte);
    root.copy(disk, 17 * mebibyte);
    expect(await readInventory(bufferSource(disk))).toMatchObject({
      distribution: 'other',
      kernel: { version: '', sha256: '' },
      packages: [],
    });
    root.fill(0);
    root.copy(disk, 17 * mebibyte);
    await expect(readInventory(bufferSource(disk))).rejects.toMatchObject({ code: 'inventory-invalid' });
  });
});
