// What Imago decides about every image. A change here that changes disks must raise `buildRules`, so that locks
// made before are distinguished.

import { rootFilePackages } from '../../disk/boot/root-files.ts';
import type { Architecture } from '../../domain/image/version.ts';
import { toolGroups } from '../../host/tools/packages.ts';

export const buildRules = 4;

/**
 * No file on a disk is younger than this (2026-01-01). One time for all versions: another one would change the
 * inode of every file, and with them what each version adds to the store.
 */
export const buildEpoch = 1_767_225_600;

export const defaultSuite = 'trixie';

const kernels = { x64: 'linux-image-cloud-amd64', arm64: 'linux-image-cloud-arm64' } as const;

/** What every node has: it starts, mounts, grows, reaches the network, and can run the agent. */
export function nodePackages(architecture: Architecture): readonly string[] {
  return [
    kernels[architecture],
    ...rootFilePackages,
    'systemd-sysv',
    'systemd-resolved',
    'udev',
    'dbus',
    'kmod',
    'iproute2',
    'ca-certificates',
    'curl',
    'quickjs',
  ];
}

/** What the build itself runs, from the lock and not from the machine: they decide about bytes of the disk. */
export const toolPackages: readonly string[] = toolGroups.disk.packages;

/** What packages bring and no node needs. */
export const excludedPaths: readonly string[] = [
  '/usr/share/doc/*',
  '/usr/share/man/*',
  '/usr/share/info/*',
  '/usr/share/locale/*',
  '/usr/share/lintian/*',
  '/usr/share/bug/*',
];

export const includedPaths: readonly string[] = [
  '/usr/share/doc/*/copyright',
  '/usr/share/locale/locale.alias',
];

/** Those of the recipe come behind. */
export const kernelArguments: readonly string[] = [
  'console=tty0',
  'console=ttyS0,115200n8',
  'net.ifnames=0',
  'quiet',
  'systemd.gpt_auto=0',
];
