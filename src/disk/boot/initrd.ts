// The tiny initial root: busybox, the few modules that reach a disk, and a script that finds the root
// partition and hands over. Under virtio it loads two or three modules; those for Hyper-V, NVMe and
// SCSI are loaded only when the root has not shown up by then. It does not check the file system: the
// kernel replays the journal. A root on which the kernel noted an error is mounted read-only, and then
// systemd-fsck-root repairs it; all others are mounted for writing, which saves that step.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface InitrdInput {
  /** A static busybox. */
  readonly busybox: Uint8Array;
  /** Uncompressed modules in the order in which they are loaded. */
  readonly first: readonly InitrdModule[];
  /** Loaded after `first` when the root partition is not there yet. */
  readonly later: readonly InitrdModule[];
  readonly epoch: number;
}

export interface InitrdModule {
  readonly name: string;
  readonly content: Uint8Array;
}

/** Drivers by which QEMU and most clouds show disks, consoles and networks. */
export const virtioDrivers = ['virtio_pci', 'virtio_blk', 'virtio_console', 'virtio_net', 'ext4'] as const;

/** The rest: SCSI over virtio, NVMe, and Azure's Hyper-V. */
export const otherDrivers = [
  'virtio_scsi',
  'nvme',
  'hv_vmbus',
  'pci_hyperv',
  'hv_storvsc',
  'sd_mod',
  'hv_netvsc',
] as const;

function script(first: readonly InitrdModule[], later: readonly InitrdModule[]): string {
  const names = (modules: readonly InitrdModule[]) => modules.map(({ name }) => name).join(' ');
  return `#!/bin/busybox sh
# Made by Imago: finds the root partition and starts the system on it.
b=/bin/busybox
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys

root= flags= type=ext4 mode= init=/sbin/init
set -f
for word in $($b cat /proc/cmdline); do
  case $word in
    root=*) root=\${word#root=} ;;
    rootflags=*) flags=,\${word#rootflags=} ;;
    rootfstype=*) type=\${word#rootfstype=} ;;
    init=*) init=\${word#init=} ;;
    ro | rw) mode=$word ;;
  esac
done
set +f

fail() {
  echo "imago-initrd: $*"
  echo "imago-initrd: block devices:" $($b ls /sys/class/block)
  echo "imago-initrd: giving up; the kernel argument panic=SECONDS makes the machine start again"
  $b sleep 1
  exit 1
}

load() {
  for module in "$@"; do $b insmod /modules/$module.ko 2>/dev/null; done
}

# The kernel does not tell a partition's GUID, so it is read from the table, where it is mixed-endian.
wanted=$(echo "\${root#PARTUUID=}" | $b tr A-F a-f |
  $b sed 's/^\\(..\\)\\(..\\)\\(..\\)\\(..\\)-\\(..\\)\\(..\\)-\\(..\\)\\(..\\)-\\(.*\\)$/\\4\\3\\2\\1\\6\\5\\8\\7\\9/; s/-//g')
find_root() {
  case $root in
    /dev/*) device=$root; [ -b "$device" ]; return ;;
    PARTUUID=*) ;;
    *) fail "cannot follow root=$root" ;;
  esac
  for file in /sys/class/block/*/partition; do
    [ -e "$file" ] || continue
    read -r number <"$file"
    name=\${file%/partition}
    disk=$($b readlink -f "$name")
    disk=\${disk%/*}
    guid=$($b dd if=/dev/\${disk##*/} bs=16 skip=$((64 + (number - 1) * 8 + 1)) count=1 2>/dev/null |
      $b hexdump -v -e '16/1 "%02x"')
    device=/dev/\${name##*/}
    [ "$guid" = "$wanted" ] && [ -b "$device" ] && return
  done
  return 1
}

load ${names(first)}
if ! find_root; then
  load ${names(later)}
  tries=0
  until find_root; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "no partition for root=$root after 60 seconds"
    $b sleep 0.1
  done
fi

# Bit 1 of the superblock's state: errors were found.
if [ -z "$mode" ]; then
  state=$($b dd if="$device" bs=2 skip=541 count=1 2>/dev/null | $b hexdump -v -e '1/2 "%u"')
  mode=rw
  [ $((state & 2)) -eq 0 ] || mode=ro
fi
$b mount -t "$type" -o "$mode$flags" "$device" /root || fail "cannot mount $device as $type"
[ -x "/root$init" ] || [ -L "/root$init" ] || fail "$device has no $init"
for place in dev proc sys; do $b mount --move /$place /root/$place; done
exec $b switch_root -c /dev/console /root "$init" "$@"
`;
}

/** The initrd as an uncompressed cpio: the same input gives the same bytes. */
export function makeInitrd(input: InitrdInput): Buffer {
  const loadedFirst = new Set(input.first.map(({ name }) => name));
  const later = input.later.filter(({ name }) => !loadedFirst.has(name));
  const folders = ['bin', 'dev', 'modules', 'proc', 'root', 'sys'];
  return writeCpio(
    [
      ...folders.map((path) => ({ path, type: 'directory' as const })),
      { path: 'dev/console', type: 'character', major: 5, minor: 1 },
      { path: 'bin/busybox', type: 'file', mode: 0o755, content: input.busybox },
      ...[...input.first, ...later].map(({ name, content }) => ({
        path: `modules/${name}.ko`,
        type: 'file' as const,
        content,
      })),
      { path: 'init', type: 'file', mode: 0o755, content: Buffer.from(script(input.first, later)) },
    ],
    input.epoch,
  );
}

type CpioEntry =
  | { readonly path: string; readonly type: 'directory'; readonly mode?: number }
  | { readonly path: string; readonly type: 'file'; readonly mode?: number; readonly content: Uint8Array }
  | { readonly path: string; readonly type: 'symlink'; readonly target: string }
  | {
      readonly path: string;
      readonly type: 'character';
      readonly mode?: number;
      readonly major: number;
      readonly minor: number;
    };

interface Fields {
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array;
  readonly major: number;
  readonly minor: number;
}

function fieldsOf(entry: CpioEntry): Fields {
  const plain = { path: entry.path, content: Buffer.alloc(0), major: 0, minor: 0 };
  switch (entry.type) {
    case 'directory':
      return { ...plain, mode: 0o040_000 | (entry.mode ?? 0o755) };
    case 'file':
      return { ...plain, mode: 0o100_000 | (entry.mode ?? 0o644), content: entry.content };
    case 'symlink':
      return { ...plain, mode: 0o120_777, content: Buffer.from(entry.target) };
    case 'character':
      return { ...plain, mode: 0o020_000 | (entry.mode ?? 0o600), major: entry.major, minor: entry.minor };
  }
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

function encode(fields: Fields, inode: number, mtime: number): Buffer[] {
  if (fields.content.length > 0xffff_ffff)
    throw new ImagoError('internal', `${fields.path} is too big for cpio`);
  const nameSize = Buffer.byteLength(fields.path) + 1;
  const numbers = [
    inode,
    fields.mode,
    0,
    0,
    1,
    mtime,
    fields.content.length,
    0,
    0,
    fields.major,
    fields.minor,
    nameSize,
    0,
  ];
  const header = `070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`;
  return [padded(Buffer.from(`${header}${fields.path}\0`)), padded(fields.content)];
}

/** One archive of the entries in their order: folders must come before what is in them. */
function writeCpio(entries: readonly CpioEntry[], mtime: number): Buffer {
  const parts = entries.flatMap((entry, index) => encode(fieldsOf(entry), index + 1, mtime));
  const trailer = { path: 'TRAILER!!!', mode: 0, content: Buffer.alloc(0), major: 0, minor: 0 };
  return Buffer.concat([...parts, ...encode(trailer, 0, 0)]);
}
