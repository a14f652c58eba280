// mkosi of Debian 13 in a root of its own, made once and kept in Imago's cache: the peer that builds bootable disks.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from '../../src/host/process/run-tool.ts';
import { machineMirror, proxySettings } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';

export interface Mkosi {
  /** Seconds of one build; the first one is cold. */
  build(): Promise<number>;
  /** A file that goes on the image as it is. */
  writeExtra(path: string, content: Buffer): Promise<void>;
  /** One more package on the image. */
  addPackage(name: string): Promise<void>;
  close(): Promise<void>;
}

const needed = [
  ...[
    'mkosi',
    'systemd-repart',
    'systemd-ukify',
    'systemd-boot',
    'systemd-container',
    'udev',
    'kmod',
    'cpio',
  ],
  ...['zstd', 'dosfstools', 'mtools', 'e2fsprogs', 'debian-archive-keyring', 'ca-certificates', 'bubblewrap'],
];

const enter = `
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mkdir -p "$root/old"
cd "$root"
pivot_root . old
umount -l /old
cd /w
exec mkosi --force build
`;

/** Throws, with the reason, where it cannot be had. */
export async function openMkosi(work: string, packages: readonly string[]): Promise<Mkosi> {
  if (process.getuid?.() !== 0) throw new Error('mkosi is run as root here, and this is another user');
  const root = join(work, 'mkosi');
  const archive = await toolsArchive(work);
  await mkdir(root);
  await runTool('tar', ['--extract', '--file', archive, '--directory', root, '--numeric-owner']);
  await writeConfig(join(root, 'w'), packages);
  return {
    async build() {
      const start = performance.now();
      const words = [
        '--mount',
        '--propagation',
        'private',
        '--pid',
        '--fork',
        '--kill-child',
        'sh',
        '-euc',
        enter,
      ];
      await runTool('unshare', [...words, 'sh', root], { env: proxySettings() });
      return (performance.now() - start) / 1000;
    },
    async writeExtra(path, content) {
      const file = join(root, 'w', 'mkosi.extra', path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content, { mode: 0o755 });
    },
    addPackage: (name) => writeConfig(join(root, 'w'), [...packages, name]),
    close: () => rm(root, { recursive: true, force: true }),
  };
}

async function toolsArchive(work: string): Promise<string> {
  const kept = join(cacheFolders()[0] ?? '', 'bench', 'mkosi-1.tar');
  if (existsSync(kept)) return kept;
  const made = join(work, 'mkosi.tar');
  const options = ['--variant=apt', `--include=${needed.join(',')}`, 'trixie', made, await machineMirror()];
  await runTool('mmdebstrap', options, { folder: work, env: { ...proxySettings(), HOME: work } });
  await rename(made, kept);
  return kept;
}

async function writeConfig(folder: string, packages: readonly string[]): Promise<void> {
  const mirror = await machineMirror();
  const sources = join(folder, 'mkosi.sandbox/etc/apt/sources.list.d');
  await mkdir(sources, { recursive: true });
  await mkdir(join(folder, 'cache'), { recursive: true });
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  await writeFile(
    join(sources, 'mkosi.sources'),
    `Types: deb\nURIs: ${mirror}\nSuites: trixie\nComponents: main\nSigned-By: ${keyring}\n`,
  );
  await writeFile(
    join(folder, 'mkosi.conf'),
    `[Distribution]
Distribution=debian
Release=trixie
Mirror=${mirror.replace(/\/debian\/?$/, '')}
[Output]
Format=disk
Output=image
[Content]
Bootable=yes
Bootloader=systemd-boot
Packages=${[...packages, 'systemd-boot'].join('\n         ')}
[Build]
Incremental=yes
CacheDirectory=cache
`,
  );
}
