// What an image must hold so that its root is mounted, checked and grown: fstab, and a unit that takes
// in the rest of the disk at each start that finds it larger. sfdisk grows the partition, and
// systemd-growfs the file system while it is mounted; both steps do nothing when nothing is to do, so
// that the next start completes one that was interrupted between them.
import { type TarItem, tarEntry, tarFile } from '../tar/writer.ts';

/** Debian packages that these files use, beyond the essential ones and systemd. */
export const rootFilePackages = ['fdisk', 'e2fsprogs'] as const;

const growRoot = `#!/bin/sh
# Made by Imago: grows the root partition to the end of its disk, then its file system.
set -eu
device=$(findmnt --noheadings --output SOURCE --mountpoint /)
part=$(readlink -f "/sys/class/block/\${device##*/}")
disk=\${part%/*}
read -r number <"$part/partition"
read -r start <"$part/start"
read -r size <"$part/size"
read -r total <"$disk/size"
# The last MiB stays free: the backup of the partition table is there.
wanted=$((total - 2048 - start))
wanted=$((wanted - wanted % 2048))
if [ "$wanted" -gt "$size" ]; then
  echo "size=$wanted" | sfdisk --quiet --force --no-reread --no-tell-kernel -N "$number" "/dev/\${disk##*/}"
  partx --update --nr "$number" "/dev/\${disk##*/}"
fi
exec /usr/lib/systemd/systemd-growfs /
`;

const unit = `[Unit]
Description=Grow the root file system to its disk
DefaultDependencies=no
Conflicts=shutdown.target
After=systemd-remount-fs.service
Before=local-fs.target shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/imago/grow-root
`;

/**
 * The files, to be put into one of the last layers. `epoch` must be that of the disk: the two marks tell
 * systemd that /etc and /var belong to this /usr, or its first start would rebuild every database
 * (ldconfig, hardware, message catalog, users) that the packages have made already.
 */
export function rootFiles(epoch: number): TarItem[] {
  const folder = (path: string): TarItem => ({ entry: tarEntry(path, { type: 'directory', mtime: epoch }) });
  const file = (path: string, text: string, mode = 0o644) => tarFile(path, text, { mode, mtime: epoch });
  const units = 'usr/lib/systemd/system';
  const updated = `# Made by Imago.\nTIMESTAMP_NSEC=${epoch}000000000\n`;
  return [
    file('etc/.updated', updated),
    file('var/.updated', updated),
    file('etc/fstab', '# Made by Imago.\n/dev/disk/by-partlabel/root / ext4 rw,relatime 0 1\n'),
    folder('usr/lib/imago'),
    file('usr/lib/imago/grow-root', growRoot, 0o755),
    file(`${units}/imago-grow-root.service`, unit),
    folder(`${units}/local-fs.target.wants`),
    {
      entry: tarEntry(`${units}/local-fs.target.wants/imago-grow-root.service`, {
        type: 'symlink',
        link: '../imago-grow-root.service',
        mtime: epoch,
      }),
    },
  ];
}
