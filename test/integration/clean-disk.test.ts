// Cleaning and scanning real ext4 disks, judged by e2fsck, debugfs, fsck.fat, and a search through the raw bytes.
import { randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { cleanDisk } from '../../src/disk/clean/clean-disk.ts';
import { requireSafe, type ScanReport, scanDisk } from '../../src/disk/clean/scan-disk.ts';
import { layOutFat } from '../../src/disk/fat/layout.ts';
import { partitionTypes } from '../../src/disk/gpt/table.ts';
import { type TarItem, tarEntry, tarFile } from '../../src/disk/tar/writer.ts';
import { type ChecklistItem, checklist } from '../../src/domain/capture/checklist.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { linuxData, linuxRoot, linuxSwap, makeDisk, type TestDisk } from '../support/donor-disk.ts';
import { type Ext4ImageOptions, makeExt4Image } from '../support/ext4-image.ts';

let folder: string;

beforeAll(() => Promise.all([fetchTools({ group: 'disk' }), fetchTools({ group: 'judges' })]));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-clean-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Each planted path with the item that must find it: written down again, so that a lost item is noticed. */
const planted: Readonly<Record<string, readonly string[]>> = {
  'machine-id': ['etc/machine-id', 'var/lib/dbus/machine-id'],
  'random-seed': [
    'var/lib/systemd/random-seed',
    'var/lib/systemd/credential.secret',
    'efi/loader/random-seed',
  ],
  'ssh-host-keys': ['etc/ssh/ssh_host_ed25519_key', 'etc/ssh/ssh_host_rsa_key.pub'],
  'host-name': ['etc/hostname', 'etc/hosts', 'etc/machine-info'],
  'agent-state': [
    ...['identity', 'config', 'failed', 'attempts', 'platform-report'].map(
      (name) => `var/lib/imago/${name}.json`,
    ),
    ...['var/lib/imago/journal/entry', 'var/lib/imago/downloads/part', 'etc/imago/kubelet.env'],
    ...['etc/imago/proxy.env', 'etc/sudoers.d/imago-jo', 'var/lib/imago/identity.json.new'],
  ],
  'build-state': ['var/lib/imago-build/jobs/1/script', 'var/lib/imago-build/inputs/tool'],
  'cloud-init': [
    ...[
      'var/lib/cloud/data/instance-id',
      'var/lib/cloud/instances/i-1/user-data.txt',
      'var/lib/cloud/sem/once',
    ],
    ...['etc/netplan/50-cloud-init.yaml', 'etc/sudoers.d/90-cloud-init-users'],
    ...['etc/NetworkManager/system-connections/cloud-init-eth0.nmconnection'],
    ...['etc/systemd/network/10-cloud-init-eth0.network', 'etc/ssh/sshd_config.d/50-cloud-init.conf'],
  ],
  'azure-agent': ['var/lib/waagent/TransportPrivate.prv', 'var/lib/waagent/history/x/GoalState.xml'],
  'kubelet-credentials': [
    ...['pki/kubelet-client-current.pem', 'kubeconfig', 'bootstrap-kubeconfig'].map(
      (name) => `var/lib/kubelet/${name}`,
    ),
  ],
  'kubelet-state': [
    ...[
      'pods/uid/volumes/x',
      'plugins/csi/y',
      'plugins_registry/z',
      'device-plugins/kubelet_internal_checkpoint',
    ],
    ...['checkpoints/c', 'cpu_manager_state', 'memory_manager_state', 'dra_manager_state'],
  ].map((name) => `var/lib/kubelet/${name}`),
  'pod-network': ['var/lib/cni/networks/pods/10.0.0.5', 'var/lib/calico/nodename', 'var/lib/azure-vnet.json'],
  containers: [
    ...['io.containerd.grpc.v1.cri/sandboxes/s/hostname', 'io.containerd.grpc.v1.cri/containers/c/x'],
    ...['io.containerd.runtime.v2.task/k8s.io/t/config.json', 'written/layer/data'],
  ].map((name) => `var/lib/containerd/${name}`),
  'network-leases': [
    ...['var/lib/dhcp/dhclient.eth0.leases', 'var/lib/NetworkManager/secret_key'],
    ...['var/lib/systemd/network/lease', 'etc/udev/rules.d/70-persistent-net.rules'],
  ],
  'cluster-credentials': [
    ...['etc/kubernetes/azure.json', 'etc/kubernetes/kubelet.conf', 'etc/kubernetes/pki/ca.key'],
    ...['etc/kubernetes/certs/client.key', 'etc/cni/net.d/calico-kubeconfig'],
  ],
  'user-access': [
    ...['root/.ssh/authorized_keys', 'root/.ssh/known_hosts', 'root/.bash_history', 'root/.kube/config'],
    ...['home/jo/.ssh/authorized_keys', 'home/jo/.bash_history', 'home/jo/.azure/token', 'etc/shadow-'],
  ],
  logs: ['var/log/syslog', 'var/log/apt/history.log', 'var/log/wtmp', 'var/log/audit/audit.log'],
  'journal-folders': [
    'var/log/journal/0123/system.journal',
    'var/log/pods/default_x/0.log',
    'var/log/azure/handler/x.log',
  ],
  'crash-dumps': ['var/crash/core.1', 'var/lib/systemd/coredump/core.2'],
  'temporary-files': ['tmp/a', 'var/tmp/systemd-private/b'],
  swap: ['swapfile', 'var/lib/imago/swap'],
  'package-caches': ['var/lib/apt/lists/archive_Packages', 'var/cache/apt/archives/x.deb'],
  'queued-jobs': ['var/spool/cron/crontabs/jo', 'var/mail/jo'],
  'storage-ids': ['etc/iscsi/initiatorname.iscsi', 'etc/nvme/hostid', 'etc/nvme/hostnqn'],
  'sealed-keys': ['etc/cryptsetup-keys.d/data.key'],
  'monitoring-ids': ['var/lib/netdata/registry/netdata.public.unique.id', 'etc/pki/consumer/key.pem'],
  'lost-files': ['lost+found/#12'],
};
const plantedPaths = Object.values(planted).flat();

/** What a clone needs. */
const kept: Readonly<Record<string, string>> = {
  'etc/fstab': '# none\n',
  'etc/passwd': 'root:x:0:0::/root:/bin/sh\njo:x:1000:1000::/home/jo:/bin/sh\n',
  'etc/ssh/sshd_config': 'PermitRootLogin no\n',
  'root/.bashrc': 'umask 022\n',
  'usr/bin/tool': 'tool',
  'var/lib/imago/managed.json': '{}',
  'var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db': 'images',
  'var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/aa': 'layer',
};

/** Unlike every other text on a disk, short enough for an inode, and nothing that a search by content would report. */
const secret = (path: string) => `planted<${plantedPaths.indexOf(path)}>`;
const shadow = `root:*:20000:0:99999:7:::\njo:$y$j9T$${'salt'}$hash-of-jo:20000:0:99999:7:::\n`;

function donorItems(): TarItem[] {
  const files = [
    ...plantedPaths
      .filter((path) => !path.startsWith('lost+found'))
      .map((path) => tarFile(path, secret(path))),
    ...Object.entries(kept).map(([path, text]) => tarFile(path, text)),
    tarFile('etc/shadow', shadow, { mode: 0o640, gid: 42 }),
  ];
  return withFolders(files);
}

/** Every directory before what is in it. */
function withFolders(files: readonly TarItem[]): TarItem[] {
  const folders = new Set(
    files.flatMap(({ entry }) => {
      const names = entry.path.split('/').slice(0, -1);
      return names.map((_, index) => names.slice(0, index + 1).join('/'));
    }),
  );
  return [
    { entry: tarEntry('', { type: 'directory' }) },
    ...[...folders].sort().map((path) => ({ entry: tarEntry(path, { type: 'directory' }) })),
    ...files,
  ];
}

async function makeDonor(options: Ext4ImageOptions = { features: '64bit,metadata_csum' }): Promise<TestDisk> {
  const root = await makeExt4Image(folder, 'root', donorItems(), { megabytes: 16, ...options });
  const lost = join(folder, 'lost');
  await writeFile(lost, secret('lost+found/#12'));
  await change(root, 'cd lost+found', `write ${lost} #12`);
  return makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
}

async function change(path: string, ...commands: readonly string[]): Promise<void> {
  const script = join(folder, 'script');
  await writeFile(script, commands.map((command) => `${command}\n`).join(''));
  await runTool(await requireTool('debugfs'), ['-w', '-f', script, path]);
}

const at = ({ path, offsets }: TestDisk, index = 0) => `${path}?offset=${offsets[index]}`;

/** The writable layer of a container, in place of containerd's own description. */
const finders = {
  'writable-container-layers': async () => ['/var/lib/containerd/written/layer'],
};
const clean = (disk: TestDisk, items: readonly ChecklistItem[] = checklist) =>
  cleanDisk(disk.path, { items, finders, workFolder: join(folder, 'work') });

async function scan(disk: TestDisk, isKnown?: (path: string) => boolean): Promise<ScanReport> {
  const source = await openFileSource(disk.path);
  try {
    return await scanDisk(source, { items: checklist, finders, ...(isKnown && { isKnown }) });
  } finally {
    await source.close();
  }
}

async function expectIntact(disk: TestDisk, index = 0): Promise<void> {
  const { exitCode, stdout } = await runTool(await requireTool('e2fsck'), ['-f', '-n', at(disk, index)], {
    accept: [0, 1, 4, 8, 12],
  });
  expect(exitCode, stdout.toString()).toBe(0);
}

/** In one pass: a search for each text would take minutes. */
function foundIn(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let start = bytes.indexOf('planted<'); start >= 0; start = bytes.indexOf('planted<', start + 1)) {
    found.push(`${bytes.toString('latin1', start, start + 16).split('>')[0]}>`);
  }
  return found;
}

/** Of all that was planted, what is still in the raw bytes of the disk. */
async function survivors(disk: TestDisk, texts: readonly string[]): Promise<readonly string[]> {
  const bytes = await readFile(disk.path);
  const plantedTexts = new Set(foundIn(bytes));
  return texts.filter((text) =>
    text.startsWith('planted<') ? plantedTexts.has(text) : bytes.includes(text),
  );
}

/** What debugfs says to each command, in one run. It fills what is kept in an inode with zeros. */
async function ask(target: string, ...commands: readonly string[]): Promise<readonly string[]> {
  const script = join(folder, 'questions');
  await writeFile(script, commands.map((command) => `${command}\n`).join(''));
  const { stdout } = await runTool(await requireTool('debugfs'), ['-f', script, target]);
  const answers = stdout.toString().split(/debugfs: (?:bmap|cat|stats?) .*\n/);
  return answers.slice(1).map((answer) => answer.replaceAll('\0', ''));
}

describe('a cleaned disk', () => {
  it.each([
    ['with checksums', '64bit,metadata_csum'],
    ['without checksums', ''],
    ['with content inside of inodes', 'metadata_csum,inline_data'],
  ])('%s holds nothing of its donor, and everything that a clone needs', async (_, features) => {
    const disk = await makeDonor({ features });
    expect(Object.keys(planted).sort()).toEqual(checklist.map(({ id }) => id).sort());
    const before = await survivors(disk, plantedPaths.map(secret));
    expect(before).toEqual(plantedPaths.map(secret));

    const report = await clean(disk);

    await expectIntact(disk);
    expect(await survivors(disk, [...plantedPaths.map(secret), 'hash-of-jo'])).toEqual([]);
    requireSafe(await scan(disk));
    const names = Object.keys(kept);
    const texts = await ask(at(disk), ...names.map((path) => `cat /${path}`));
    expect(texts.map((text, index) => [names[index], text.trim()])).toEqual(
      Object.entries(kept).map(([path, text]) => [path, text.trim()]),
    );
    const [passwords, passwordFile, machineId, hosts, logs, note] = await ask(
      at(disk),
      ...[
        'cat /etc/shadow',
        'stat /etc/shadow',
        'stat /etc/machine-id',
        'cat /etc/hosts',
        'stat /var/log/apt',
      ],
      'stat /var/lib/imago/foreign-containers',
    );
    expect(passwords).toContain('jo:!:20000');
    expect(passwordFile).toMatch(/Mode: {2}0640[\s\S]*Group: {4}42/);
    expect(machineId).toMatch(/Mode: {2}0444[\s\S]*Size: 0/);
    expect(hosts).toMatch(/^127\.0\.0\.1 localhost\n/);
    expect(logs).toContain('Type: directory');
    expect(note).toMatch(/Mode: {2}0600/);
    expect([...new Set(report.removed.map(({ item }) => item))].sort()).toEqual(Object.keys(planted).sort());
    expect(report.rewritten.map(({ path }) => path).sort()).toEqual([
      ...['/etc/hosts', '/etc/machine-id', '/etc/shadow', '/var/lib/imago/foreign-containers'],
    ]);
  });

  it('is not changed by a second cleaning', async () => {
    const disk = await makeDonor();
    await clean(disk);
    const first = await readFile(disk.path);
    expect(await clean(disk)).toEqual({ removed: [], rewritten: [], otherNames: [] });
    const second = await readFile(disk.path);
    // The superblock has the time of the last check.
    const start = (disk.offsets[0] ?? 0) + 4096;
    expect(second.subarray(start).equals(first.subarray(start))).toBe(true);
  });

  it('differs from its donor only in the blocks that had to change', async () => {
    const disk = await makeDonor();
    const before = await readFile(disk.path);
    await clean(disk);
    const after = await readFile(disk.path);
    let changed = 0;
    for (let block = 0; block < before.length; block += 4096) {
      const [a, b] = [before.subarray(block, block + 4096), after.subarray(block, block + 4096)];
      if (!a.equals(b) && b.some((byte) => byte !== 0)) changed += 1;
    }
    expect(changed).toBeLessThan(150);
  });

  it('keeps other partitions as they are, and clears swap', async () => {
    const root = await makeExt4Image(folder, 'root', donorItems(), { megabytes: 16 });
    const swap = join(folder, 'swap');
    const header = Buffer.alloc(4096);
    header.write('SWAPSPACE2', 4086);
    await writeFile(swap, Buffer.concat([header, Buffer.alloc(1024 * 1024 - 4096, 'memory-of-donor')]));
    const disk = await makeDisk(folder, 'disk', [
      { type: linuxSwap, file: swap },
      { type: linuxRoot, file: root },
    ]);
    expect((await scan(disk)).findings).toContainEqual(
      expect.objectContaining({ path: 'partition 1', rule: 'swap' }),
    );
    await clean(disk);
    expect(await survivors(disk, ['memory-of-donor'])).toEqual([]);
    expect((await readFile(disk.path)).includes('SWAPSPACE2')).toBe(true);
    requireSafe(await scan(disk));
    await expectIntact(disk, 1);
  });
});

describe('bytes of files that were deleted before', () => {
  it('do not survive, nor do their names, nor what is reserved and not written', async () => {
    const root = await makeExt4Image(folder, 'root', donorItems(), {
      megabytes: 16,
      features: 'metadata_csum',
    });
    for (const text of ['deleted-content', 'reserved-content']) {
      await writeFile(join(folder, text), text.repeat(text === 'deleted-content' ? 6000 : 500));
    }
    await change(root, 'cd /usr', `write ${join(folder, 'deleted-content')} deleted-name`, 'rm deleted-name');
    // A reserved range over blocks that hold something: those of a file that was deleted.
    await change(root, `write ${join(folder, 'reserved-content')} reserved`);
    const [block] = await ask(root, 'bmap /reserved 0');
    await change(root, 'rm /reserved', 'write /dev/null reserved', 'fallocate /reserved 0 2');
    expect(await ask(root, 'bmap /reserved 0')).toEqual([expect.stringContaining(block?.trim() ?? '')]);
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    const texts = ['deleted-content', 'deleted-name', 'reserved-content'];
    expect(await survivors(disk, texts)).toEqual(texts);
    await clean(disk);
    expect(await survivors(disk, texts)).toEqual([]);
    await expectIntact(disk);
  });

  it('do not survive in the journal, which is replayed first', async () => {
    const root = await makeExt4Image(folder, 'root', donorItems(), {
      megabytes: 16,
      features: '64bit,metadata_csum',
    });
    const [log, tool] = (await ask(root, 'bmap /var/log/syslog 0', 'bmap /usr/bin/tool 0')).map(Number);
    for (const text of ['journal-secret', 'new!'])
      await writeFile(join(folder, text), text.padEnd(4096, '\0'));
    await change(
      root,
      'jo',
      `jw -b ${log} ${join(folder, 'journal-secret')}`,
      `jw -b ${tool} ${join(folder, 'new!')}`,
      'jc',
    );
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    await expect(scan(disk)).rejects.toMatchObject({ code: 'ext4-unclean' });
    await clean(disk);
    expect(await survivors(disk, ['journal-secret'])).toEqual([]);
    expect(await ask(at(disk), 'cat /usr/bin/tool')).toEqual([expect.stringMatching(/^new!/)]);
    await expectIntact(disk);
  });
});

describe('the scan', () => {
  it('of a disk that was not cleaned names every path and prints no content', async () => {
    const disk = await makeDonor();
    const report = await scan(disk);
    for (const [id, paths] of Object.entries(planted)) {
      for (const path of paths)
        expect(report.findings).toContainEqual(expect.objectContaining({ path: `/${path}`, rule: id }));
    }
    expect(report.findings).toContainEqual(
      expect.objectContaining({ path: '/etc/shadow', rule: 'user-access' }),
    );
    expect(() => requireSafe(report)).toThrow(expect.objectContaining({ code: 'capture-unsafe' }));
    expect(JSON.stringify(report)).not.toContain('planted<');
    expect(JSON.stringify(report)).not.toContain('hash-of-jo');
  });

  it.each([0, 1])('after a cleaning without some items reports these and no others (%i)', async (rest) => {
    const skipped = checklist.filter((_, index) => index % 2 === rest);
    const disk = await makeDonor({ features: '64bit,metadata_csum' });
    await clean(
      disk,
      checklist.filter((item) => !skipped.includes(item)),
    );
    const reported = new Set((await scan(disk)).findings.map(({ rule }) => rule));
    expect([...reported].sort()).toEqual(skipped.map(({ id }) => id).sort());
  });

  const body = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
  const privateKey = `-----BEGIN PRIVATE ${'KEY'}-----\n${body}\n`;

  it('finds secrets by content in files that no item names, unless the parent image has the same file', async () => {
    const items = withFolders([
      tarFile('opt/app/notes.txt', `some text\n${privateKey}`),
      tarFile('usr/share/doc/example.pem', privateKey),
      tarFile('srv/store.pfx', 'binary'),
      tarFile('srv/large', Buffer.concat([Buffer.alloc(3 * 1024 * 1024 - 20), Buffer.from(privateKey)])),
      tarFile('etc/hosts', hostsText),
      tarFile('etc/machine-id', '', { mode: 0o444 }),
    ]);
    const root = await makeExt4Image(folder, 'root', items);
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    const { findings } = await scan(disk, (path) => path.startsWith('/usr/share/'));
    expect(findings.map(({ path, rule }) => [path, rule])).toEqual([
      ['/opt/app/notes.txt', 'private-key'],
      ['/srv/large', 'private-key'],
      ['/srv/store.pfx', 'key-store'],
    ]);
    expect(JSON.stringify(findings)).not.toContain(body);
  });
});

const hostsText =
  checklist.flatMap(({ reset = [] }) => reset).find(({ path }) => path === '/etc/hosts')?.content ?? '';

describe('names', () => {
  it('that look like commands, or are no text, are only names', async () => {
    const odd = ['a"b\nquit', '<2>', '; clri <2>', '-f', ' space ', 'ä漢', '\\', "'"];
    const items = withFolders([
      ...odd.map((name) => tarFile(`var/log/${name}`, 'odd-content')),
      ...odd.map((name) => tarFile(`usr/${name}`, 'kept-content')),
      tarFile('etc/hosts', hostsText),
    ]);
    const root = await makeExt4Image(folder, 'root', items, { features: 'metadata_csum' });
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    await clean(disk);
    await expectIntact(disk);
    expect(await survivors(disk, ['odd-content', 'kept-content'])).toEqual(['kept-content']);
    const source = await openFileSource(disk.path);
    const { files } = await scanDisk(source, { items: checklist, finders });
    await source.close();
    expect(files).toBe(odd.length + 2);
  });

  it('of one file all go with it, and links to directories are followed', async () => {
    const items = withFolders([
      tarFile('data/kubelet/pki/key', 'kubelet-key'),
      tarFile('data/kubelet/other', 'kept-content'),
      tarFile('tmp/one', 'linked-content'),
      { entry: tarEntry('srv', { type: 'directory' }) },
      { entry: tarEntry('srv/two', { type: 'hardlink', link: 'tmp/one' }) },
      { entry: tarEntry('var/lib/kubelet', { type: 'symlink', link: '../../data/kubelet' }) },
      tarFile('var/lib/x', ''),
      tarFile('etc/hosts', hostsText),
    ]);
    const ordered = items.toSorted(
      (a, b) => Number(b.entry.type === 'directory') - Number(a.entry.type === 'directory'),
    );
    const root = await makeExt4Image(folder, 'root', ordered, { features: 'metadata_csum' });
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    expect((await clean(disk)).otherNames).toEqual(['/srv/two']);
    await expectIntact(disk);
    expect(await survivors(disk, ['kubelet-key', 'linked-content', 'kept-content'])).toEqual([
      'kept-content',
    ]);
  });
});

describe('a disk', () => {
  it('with no free block is cleaned', async () => {
    const root = await makeExt4Image(folder, 'root', donorItems(), {
      megabytes: 16,
      features: 'metadata_csum',
    });
    const fill = join(folder, 'fill');
    const free = async () => Number(/Free blocks: +(\d+)/.exec((await ask(root, 'stats -h'))[0] ?? '')?.[1]);
    await writeFile(fill, randomBytes(((await free()) - 4) * 4096));
    const one = join(folder, 'one');
    await writeFile(one, randomBytes(4096));
    await change(
      root,
      'cd /usr',
      `write ${fill} fill`,
      ...Array.from({ length: 6 }, (_, n) => `write ${one} one${n}`),
    );
    expect(await free()).toBe(0);
    // What could not be written.
    await runTool(await requireTool('e2fsck'), ['-f', '-y', root], { accept: [0, 1] });
    const disk = await makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
    await clean(disk);
    await expectIntact(disk);
    requireSafe(await scan(disk));
    expect(await survivors(disk, plantedPaths.map(secret))).toEqual([]);
  });

  it('with /var on another partition is cleaned there too', async () => {
    const uuid = '11111111-2222-4333-8444-555555555555';
    const system = withFolders([
      tarFile('etc/fstab', `UUID=${uuid} /var ext4 defaults 0 2\n`),
      tarFile('etc/hosts', 'donor-host'),
    ]);
    const data = withFolders([tarFile('log/syslog', 'donor-log'), tarFile('lib/app', 'kept-content')]);
    const root = await makeExt4Image(folder, 'root', system, { megabytes: 16, features: 'metadata_csum' });
    const other = await makeExt4Image(folder, 'var', data, { megabytes: 16, more: ['-U', uuid] });
    const disk = await makeDisk(folder, 'disk', [
      { type: linuxData, file: root },
      { type: linuxData, file: other },
    ]);
    const report = await clean(disk);
    expect(report.removed).toEqual([{ path: '/var/log/syslog', item: 'logs' }]);
    expect(await survivors(disk, ['donor-host', 'donor-log', 'kept-content'])).toEqual(['kept-content']);
    await expectIntact(disk, 0);
    await expectIntact(disk, 1);
  });

  it('with an EFI system partition loses its random seed', async () => {
    const esp = join(folder, 'esp');
    const pieces = layOutFat({
      size: 40 * 1024 * 1024,
      firstSector: 2048,
      volumeId: 1,
      label: 'EFI',
      epoch: 1_750_000_000,
      files: [{ path: 'LOADER/LOADER.CON', content: Buffer.from('timeout 1') }],
    });
    await writeFile(esp, '');
    await truncate(esp, 40 * 1024 * 1024);
    const handle = await open(esp, 'r+');
    for (const { offset, bytes } of pieces) await handle.write(bytes, 0, bytes.length, offset);
    await handle.close();
    const seed = join(folder, 'seed');
    await writeFile(seed, 'seed-of-donor'.repeat(100));
    await runTool(await requireTool('mcopy'), ['-i', esp, seed, '::/LOADER/random-seed']);
    const root = await makeExt4Image(folder, 'root', withFolders([tarFile('etc/hosts', hostsText)]), {
      megabytes: 16,
    });
    const disk = await makeDisk(folder, 'disk', [
      { type: partitionTypes.efiSystem, file: esp },
      { type: linuxRoot, file: root },
    ]);
    expect((await scan(disk)).findings).toContainEqual(
      expect.objectContaining({ path: '/boot/efi/loader/random-seed', rule: 'random-seed' }),
    );
    const { removed } = await clean(disk);
    expect(removed).toEqual([{ path: '/boot/efi/loader/random-seed', item: 'random-seed' }]);
    expect(await survivors(disk, ['seed-of-donor', 'timeout 1'])).toEqual(['timeout 1']);
    requireSafe(await scan(disk));
    const cleaned = (await readFile(disk.path)).subarray(
      disk.offsets[0],
      (disk.offsets[0] ?? 0) + 40 * 1024 * 1024,
    );
    await writeFile(esp, cleaned);
    await runTool(await requireTool('fsck.fat'), ['-n', esp]);
    const listed = await runTool(await requireTool('mdir'), ['-b', '-i', esp, '::/LOADER']);
    expect(listed.stdout.toString().trim().split('\n')).toEqual(['::/LOADER/LOADER.CON']);
  });

  const refusals: Readonly<Record<string, readonly [() => Promise<TestDisk>, string]>> = {
    'without an ext4 file system': [() => makeBlank(linuxRoot), 'disk-uncleanable'],
    'with an encrypted partition': [() => makeBlank(linuxRoot, 'LUKS'), 'disk-uncleanable'],
    'with a file system that fstab does not mount': [
      async () => {
        const root = await makeExt4Image(folder, 'root', donorItems(), { megabytes: 16 });
        const other = await makeExt4Image(folder, 'other', withFolders([tarFile('data', 'x')]), {
          megabytes: 16,
        });
        return makeDisk(folder, 'disk', [
          { type: linuxRoot, file: root },
          { type: linuxData, file: other },
        ]);
      },
      'disk-uncleanable',
    ],
    'with encrypted files': [() => makeDonor({ features: 'encrypt' }), 'ext4-invalid'],
    'with a log directory that is a link to the system': [
      async () => {
        const items = [
          { entry: tarEntry('', { type: 'directory' as const }) },
          { entry: tarEntry('etc', { type: 'directory' as const }) },
          { entry: tarEntry('usr', { type: 'directory' as const }) },
          { entry: tarEntry('tmp', { type: 'symlink' as const, link: '/usr' }) },
        ];
        const root = await makeExt4Image(folder, 'root', items, { megabytes: 16 });
        return makeDisk(folder, 'disk', [{ type: linuxRoot, file: root }]);
      },
      'disk-uncleanable',
    ],
  };
  it.each(Object.entries(refusals))('%s is refused and not changed', async (_, [make, code]) => {
    const disk = await make();
    const copy = join(folder, 'copy');
    await copyFile(disk.path, copy);
    await expect(clean(disk)).rejects.toMatchObject({ code });
    const [before, after] = [await readFile(copy), await readFile(disk.path)];
    // A check writes its time into the superblock.
    const changed = before.findIndex((byte, index) => index % 4096 >= 2048 && byte !== after[index]);
    expect(changed).toBe(-1);
    expect((await stat(disk.path)).size).toBe((await stat(copy)).size);
  });

  async function makeBlank(type: string, text = ''): Promise<TestDisk> {
    const file = join(folder, 'blank');
    await writeFile(file, Buffer.alloc(1024 * 1024));
    await writeFile(file, text, { flag: 'r+' });
    return makeDisk(folder, 'disk', [{ type, file }]);
  }
});
