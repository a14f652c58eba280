// A small Debian 13 root file system for tests, made once by mmdebstrap from the machine's own mirror
// and kept in Imago's cache, outside of the tree.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../../src/host/process/run-tool.ts';
import { machineMirror, proxySettings } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';

export const testEpoch = 1_750_000_000;

const packages = ['systemd-sysv', 'udev', 'dbus', 'kmod', 'linux-image-cloud-amd64', 'fdisk', 'e2fsprogs'];
const options = [
  '--variant=minbase',
  `--include=${packages.join(',')}`,
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--aptopt=Acquire::Languages "none"',
  '--customize-hook=rm -f "$1"/boot/initrd.img-*; : > "$1"/etc/machine-id',
];

/** The path of the tar archive. Takes about a minute the first time on a machine, and nothing after. */
export async function debianRoot(): Promise<string> {
  const key = createHash('sha256').update(JSON.stringify(options)).digest('hex').slice(0, 16);
  const folder = join(cacheFolders()[0] ?? '', 'test');
  const kept = join(folder, `trixie-${key}.tar`);
  if (existsSync(kept)) return kept;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'work-'));
  try {
    const tar = join(work, 'root.tar');
    await runTool('mmdebstrap', [...options, 'trixie', tar, await machineMirror()], {
      folder: work,
      env: { ...proxySettings(), SOURCE_DATE_EPOCH: String(testEpoch), HOME: work },
    });
    await rename(tar, kept);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return kept;
}
