// A generic Debian image, as distributions publish them: its own packages, apt, ssh, netplan and the real cloud-init,
// and nothing of Imago. Made once by mmdebstrap from the machine's mirror and kept in Imago's cache.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { excludedPaths, includedPaths } from '../../src/build/lock/rules.ts';
import { assembleDisk, rootContent } from '../../src/disk/assemble/assemble-disk.ts';
import { type BootFiles, readBootFiles } from '../../src/disk/boot/boot-files.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { mergeLayers } from '../../src/disk/tar/merge.ts';
import type { MergedTree } from '../../src/disk/tar/merged-tree.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { inputsOf, type Lock } from '../../src/domain/lock/lock.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools, machineMirror, proxySettings } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders, readToolFile } from '../../src/host/tools/tools.ts';
import { bufferSource } from './buffer-source.ts';
import type { MachineImage } from './cloud-init-machine.ts';

const epoch = 1_750_000_000;
/** A busy computer that emulates another takes its time. */
export const bootPatience = [
  'systemd.default_device_timeout_sec=900',
  'systemd.default_timeout_start_sec=900',
];

const genericPackages: readonly string[] = [
  ...[
    'linux-image-cloud-amd64',
    'initramfs-tools',
    'systemd-sysv',
    'systemd-resolved',
    'udev',
    'dbus',
    'kmod',
  ],
  ...[
    'iproute2',
    'ca-certificates',
    'fdisk',
    'e2fsprogs',
    'openssh-server',
    'sudo',
    'netplan.io',
    'cloud-init',
  ],
];

const options = [
  '--variant=minbase',
  `--include=${genericPackages.join(',')}`,
  ...excludedPaths.map((path) => `--dpkgopt=path-exclude=${path}`),
  ...includedPaths.map((path) => `--dpkgopt=path-include=${path}`),
  '--aptopt=Acquire::Languages "none"',
  // Every machine makes its own.
  '--customize-hook=rm -f "$1"/etc/ssh/ssh_host_*; : >"$1"/etc/machine-id; rm -f "$1"/var/lib/dbus/machine-id',
];

export interface GenericDiskOptions {
  readonly folder: string;
  /** Tells the archive's state: when versions in it are others, the root is made anew, and has them too. */
  readonly lock: Lock;
  /** One line of apt's sources for the machines. */
  readonly aptSource: string;
  /**
   * `published`: with Debian's own initrd, and all the work of a first start. `quick`: with Imago's initrd and without
   * that work, where the way to cloud-init is not what is looked at.
   */
  readonly kind: 'published' | 'quick';
}

/** Makes the disk and its boot parts in the folder. The first call for a state takes about a minute more. */
export async function makeGenericDisk(options: GenericDiskOptions): Promise<MachineImage> {
  await fetchTools({ group: 'disk' });
  const base = await openFileSource(await genericRoot(archiveState(options.lock)));
  try {
    const tree = await mergeLayers(
      [
        { name: 'base', source: base },
        { name: 'own', source: bufferSource(await buffer(writeTar(ownFiles(options)))) },
      ],
      { epoch, maxEntries: 100_000, maxBytes: 4 * 1024 ** 3, devices: 'allow' },
    );
    const boot = await bootFiles(tree, options.kind);
    const disk = await assembleDisk({
      root: rootContent(tree),
      boot,
      cmdline: ['console=ttyS0', 'net.ifnames=0', 'quiet', ...bootPatience].join(' '),
      epoch,
      seed: 'generic',
      size: 3 * 1024 ** 3,
      path: join(options.folder, 'disk.raw'),
      workFolder: options.folder,
      durable: false,
    });
    const [kernel, initrd] = [join(options.folder, 'vmlinuz'), join(options.folder, 'initrd')];
    await writeFile(kernel, boot.kernel);
    await writeFile(initrd, boot.initrd);
    return { disk: disk.path, boot: { kind: 'direct', kernel, initrd, cmdline: disk.cmdline } };
  } finally {
    await base.close();
  }
}

/** As `systemctl enable systemd-networkd` makes them. */
const enabledUnits = [
  ['dbus-org.freedesktop.network1.service', 'systemd-networkd.service'],
  ['multi-user.target.wants/systemd-networkd.service', 'systemd-networkd.service'],
  [
    'network-online.target.wants/systemd-networkd-wait-online.service',
    'systemd-networkd-wait-online.service',
  ],
  ['sockets.target.wants/systemd-networkd.socket', 'systemd-networkd.socket'],
] as const;

/** What whoever publishes an image decides: its disk, its network, and the archive that it installs from. */
function ownFiles({ aptSource, kind }: GenericDiskOptions): TarItem[] {
  const updated = ['etc', 'var'].map((name) =>
    tarFile(`${name}/.updated`, `TIMESTAMP_NSEC=${epoch}000000000\n`),
  );
  return [
    ...(kind === 'quick' ? updated : []),
    // What mmdebstrap has brought from this computer.
    tarFile('etc/hosts', '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n'),
    tarFile('etc/hostname', 'localhost\n'),
    tarFile('etc/fstab', '/dev/disk/by-partlabel/root / ext4 rw,relatime 0 1\n'),
    tarFile('etc/apt/sources.list', `${aptSource}\n`),
    ...enabledUnits.map(([wants, unit]) => ({
      entry: tarEntry(`etc/systemd/system/${wants}`, {
        type: 'symlink',
        link: `/usr/lib/systemd/system/${unit}`,
      }),
    })),
  ];
}

async function bootFiles(tree: MergedTree, kind: GenericDiskOptions['kind']): Promise<BootFiles> {
  const own = await readBootFiles(tree, { epoch, busybox: await readToolFile('busybox') });
  if (kind === 'quick') return own;
  const initrd = await tree.read(`boot/initrd.img-${own.kernelVersion}`, 256 * 1024 ** 2);
  if (initrd === undefined) throw new Error('the generic root has no initrd of its own');
  return { ...own, initrd };
}

/** The same for all locks of one moment, whatever else their recipes have. */
function archiveState(lock: Lock): string {
  const shared = inputsOf(lock, 'package').filter(
    ({ name, sets }) => sets?.includes('base') === true || genericPackages.includes(name),
  );
  return shared.map(({ name, version }) => `${name} ${version}`).join('\n');
}

/** The path of the tar archive. Those of other states are taken away. */
async function genericRoot(state: string): Promise<string> {
  const key = createHash('sha256')
    .update(JSON.stringify([options, state]))
    .digest('hex')
    .slice(0, 16);
  const folder = join(cacheFolders()[0] ?? '', 'test');
  const name = `generic-${key}.tar`;
  const kept = join(folder, name);
  if (existsSync(kept)) return kept;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'work-'));
  try {
    const tar = join(work, 'root.tar');
    await runTool('mmdebstrap', [...options, 'trixie', tar, ...(await archiveLines())], {
      folder: work,
      env: { ...proxySettings(), SOURCE_DATE_EPOCH: String(epoch), HOME: work },
    });
    await rename(tar, kept);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  for (const other of await readdir(folder))
    if (/^generic-[0-9a-f]{16}\.tar$/.test(other) && other !== name)
      await rm(join(folder, other), { force: true });
  return kept;
}

/** The same parts of the archive as a build takes packages from. */
async function archiveLines(): Promise<readonly string[]> {
  const mirror = (process.env.IMAGO_DEBIAN_MIRROR ?? (await machineMirror())).replace(/\/$/, '');
  const security = mirror.endsWith('/debian') ? [`deb ${mirror}-security trixie-security main`] : [];
  return [`deb ${mirror} trixie main`, `deb ${mirror} trixie-updates main`, ...security];
}
