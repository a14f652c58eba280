// A small disk that has one of everything an inventory tells about, as a node's disk has it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { type AssembledDisk, assembleDisk, rootContent } from '../../src/disk/assemble/assemble-disk.ts';
import { rootFiles } from '../../src/disk/boot/root-files.ts';
import { mergeLayers } from '../../src/disk/tar/merge.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { fakeBoot } from './assemble-disk.ts';
import { bufferSource } from './buffer-source.ts';

const epoch = 1_750_000_000;

const fixture = join(import.meta.dirname, '../../src/inventory/linux/containerd-database.fixture.gz');
const stanza = (name: string, version: string) =>
  `Package: ${name}\nStatus: install ok installed\nInstalled-Size: 10\nArchitecture: amd64\nVersion: ${version}\nMaintainer: Some One <some@example.com>\nHomepage: https://example.com/${name}\n\n`;
const unit = (install: boolean) =>
  `[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n${install ? '[Install]\nWantedBy=multi-user.target\n' : ''}`;
const link = (path: string, target: string): TarItem => ({
  entry: tarEntry(path, { type: 'symlink', link: target }),
});

export interface NodeDiskChange {
  readonly runc?: string;
  readonly extra?: readonly TarItem[];
  /** More of /etc/imago-release. */
  readonly release?: string;
}

function nodeFiles({ runc = '1.1.15', extra = [], release = '' }: NodeDiskChange = {}): TarItem[] {
  const units = 'usr/lib/systemd/system';
  return [
    { entry: tarEntry('', { type: 'directory' }) },
    tarFile('etc/os-release', 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n'),
    tarFile('etc/imago-release', `IMAGE=node\nVERSION=1.34.2\n${release}`),
    tarFile(
      'etc/passwd',
      'root:x:0:0:root:/root:/bin/bash\nadmin:x:1000:1000::/home/admin:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n',
    ),
    tarFile(
      'etc/shadow',
      'root:*:20000:0:99999:7:::\nadmin:$y$secret-hash:20000::::::\nnobody:!:20000::::::\n',
      {
        mode: 0o640,
        gid: 42,
      },
    ),
    tarFile('etc/group', 'root:x:0:\nsudo:x:27:admin\n'),
    tarFile('etc/sysctl.d/90-node.conf', 'net.ipv4.ip_forward = 1\nvm.swappiness=0\n'),
    tarFile('usr/lib/sysctl.d/50-default.conf', 'vm.swappiness = 60\nkernel.pid_max = 4194304\n'),
    tarFile('usr/lib/sysctl.d/90-node.conf', 'overridden.by.etc = 1\n'),
    tarFile('etc/modules-load.d/node.conf', 'overlay\nbr_netfilter\n'),
    tarFile(`${units}/kubelet.service`, unit(true)),
    tarFile(`${units}/ssh.service`, unit(true)),
    tarFile(`${units}/getty@.service`, unit(true)),
    tarFile(`${units}/static.service`, unit(false)),
    tarFile(`${units}/apt-daily.timer`, unit(true)),
    tarFile(`${units}/dbus-broker.service`, unit(true)),
    link(`${units}/old-name.service`, 'static.service'),
    link(`${units}/sockets.target.wants/static.service`, '../static.service'),
    link('etc/systemd/system/multi-user.target.wants/kubelet.service', `/${units}/kubelet.service`),
    link('etc/systemd/system/getty.target.wants/getty@tty1.service', `/${units}/getty@.service`),
    link('etc/systemd/system/apt-daily.timer', '/dev/null'),
    link('etc/systemd/system/dbus.service', `/${units}/dbus-broker.service`),
    tarFile('etc/systemd/system/kubelet.service.d/10-node.conf', '[Service]\n'),
    tarFile(
      'var/lib/dpkg/status',
      `${stanza('runc', runc)}${stanza('libc6', '2.41-12')}Package: old\nStatus: deinstall ok config-files\nVersion: 1\n`,
    ),
    tarFile('var/lib/dpkg/info/runc.list', '/.\n/usr\n/sbin\n/sbin/runc\n'),
    link('sbin', 'usr/sbin'),
    tarFile('usr/sbin/runc', `runc ${runc}`, { mode: 0o755 }),
    tarFile('usr/lib/modules/6.12.0-test/modules.dep', ''),
    tarFile('var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db', gunzipSync(readFileSync(fixture))),
    ...extra,
  ];
}

export async function makeNodeDisk(folder: string, change: NodeDiskChange = {}): Promise<AssembledDisk> {
  const layers = await Promise.all(
    [nodeFiles(change), rootFiles(epoch)].map(async (items, index) => ({
      name: `layer ${index}`,
      source: bufferSource(await buffer(writeTar(items))),
    })),
  );
  const tree = await mergeLayers(layers, {
    epoch,
    maxEntries: 10_000,
    maxBytes: 100_000_000,
    devices: 'allow',
  });
  return assembleDisk({
    root: rootContent(tree),
    boot: fakeBoot,
    cmdline: 'console=ttyS0 quiet',
    epoch,
    seed: 'node',
    size: 256 * 1024 * 1024,
    path: join(folder, 'disk.raw'),
    workFolder: join(folder, 'work'),
  });
}
