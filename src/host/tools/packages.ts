// Which programs and files Imago uses beyond Node, and which Debian package holds each. They come in
// groups, because few need all of them: `disk` builds images, `judges` check them in tests, `agent` is
// what goes on a node, `azure` is Azure's own command line, which judges the emulator, `windows` makes and reads
// disks of Windows for tests.
export type ToolGroup = 'disk' | 'judges' | 'agent' | 'azure' | 'windows';

export interface GroupContents {
  readonly packages: readonly string[];
  /** Programs that get a wrapper in `bin/`. */
  readonly programs: readonly string[];
  /** Files that are linked in `share/`: name to path inside the unpacked packages. */
  readonly files: Readonly<Record<string, string>>;
}

export const toolGroups = {
  disk: {
    packages: [
      'e2fsprogs',
      'libarchive13t64',
      'syslinux',
      'mtools',
      'systemd-boot-efi',
      'busybox-static',
      'xz-utils',
    ],
    programs: [
      'mke2fs',
      'e2fsck',
      'debugfs',
      'dumpe2fs',
      'syslinux',
      'mcopy',
      'mattrib',
      'mmove',
      'mdir',
      'mtype',
      'xz',
    ],
    files: {
      'linuxx64.efi.stub': 'usr/lib/systemd/boot/efi/linuxx64.efi.stub',
      'gptmbr.bin': 'usr/lib/SYSLINUX/gptmbr.bin',
      busybox: 'usr/bin/busybox',
    },
  },
  judges: {
    packages: ['fdisk', 'dosfstools', 'cosign', 'oras', 'libfaketime'],
    programs: ['sfdisk', 'fsck.fat', 'cosign', 'oras'],
    files: {},
  },
  windows: {
    packages: [
      'ntfs-3g',
      'wimtools',
      'libhivex-bin',
      'libfsntfs-utils',
      'libregf-utils',
      'gcab',
      'cabextract',
    ],
    programs: [
      'mkntfs',
      'ntfscp',
      'ntfscat',
      'ntfsls',
      'wimlib-imagex',
      'hivexsh',
      'hivexml',
      'fsntfsinfo',
      'regfexport',
      'gcab',
      'cabextract',
    ],
    files: {},
  },
  agent: { packages: ['quickjs'], programs: ['qjs', 'qjsc'], files: {} },
  azure: { packages: ['azure-cli'], programs: ['python3.13'], files: {} },
} as const satisfies Record<ToolGroup, GroupContents>;

export type ToolName = (typeof toolGroups)[ToolGroup]['programs'][number] | 'qemu-img';

export type ToolFile = keyof (typeof toolGroups)['disk']['files'];

/** Where a Debian system with the package installed has the file. */
export const systemFiles = {
  'linuxx64.efi.stub': ['/usr/lib/systemd/boot/efi/linuxx64.efi.stub'],
  'gptmbr.bin': ['/usr/lib/SYSLINUX/gptmbr.bin', '/usr/lib/syslinux/mbr/gptmbr.bin'],
  busybox: ['/usr/bin/busybox', '/bin/busybox'],
} as const satisfies Record<ToolFile, readonly string[]>;
