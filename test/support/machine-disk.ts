// A small Debian disk for tests of machines. Beside Debian it has a stand-in for the agent's end of the command
// port, in the Perl that every Debian has, a shell on the console that `imago node shell` uses, and a report.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { assembleDisk, rootContent } from '../../src/disk/assemble/assemble-disk.ts';
import { readBootFiles } from '../../src/disk/boot/boot-files.ts';
import { rootFiles } from '../../src/disk/boot/root-files.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { mergeLayers } from '../../src/disk/tar/merge.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';
import { bufferSource } from './buffer-source.ts';
import { debianRoot, testEpoch } from './debian-root.ts';

export interface MachineDisk {
  readonly path: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly cmdline: string;
}

const commandLoop = `#!/usr/bin/perl
use strict;
use warnings;
use IO::Handle;
open(my $port, '+<', '/dev/virtio-ports/org.imago.commands.0') or die $!;
open(my $out, '>&', $port) or die $!;
$out->autoflush(1);
sub decode {
  my ($text) = @_;
  my %plain = (n => "\\n", t => "\\t", r => "\\r", b => "\\b", f => "\\f");
  $text =~ s{\\\\(?:u([0-9a-fA-F]{4})|(.))}{defined $1 ? chr(hex $1) : ($plain{$2} // $2)}ge;
  return $text;
}
sub encode {
  my ($path) = @_;
  open(my $file, '<', $path) or return '""';
  local $/;
  my $text = <$file> // '';
  $text =~ s/([\\x00-\\x1f"\\\\\\x7f-\\xff])/sprintf('\\\\u%04x', ord $1)/ge;
  return "\\"$text\\"";
}
while (1) {
  my $line = <$port>;
  # Nobody is connected on the other side.
  if (!defined $line) { $port->clearerr; select(undef, undef, undef, 0.2); next; }
  my ($id) = $line =~ /"id":"([^"]+)"/ or next;
  my ($script) = $line =~ /"script":"((?:[^"\\\\]|\\\\.)*)"/ or next;
  open(my $file, '>', '/run/command') or die $!;
  print $file decode($script);
  close $file;
  my $code = system('sh /run/command >/run/command.out 2>/run/command.err') >> 8;
  print $out '{"id":"', $id, '","exitCode":', $code, ',"stdout":', encode('/run/command.out'),
    ',"stderr":', encode('/run/command.err'), "}\\n";
}
`;

const report = `#!/bin/sh
# Before udev made the name, writing there would make a file of that name.
[ -c /dev/virtio-ports/org.imago.report.0 ] || exit 1
up=$(cut -d' ' -f1 /proc/uptime | tr -d .)0
printf '{"schema":1,"phase":"ready","at":"%s","bootId":"%s","agentVersion":"0.0.0","steps":[{"name":"sysctl","state":"done","startedMs":%s,"durationMs":5}],"timeline":[{"name":"userspace","ms":900},{"name":"ready","ms":%s}],"pending":[]}\\n' \\
  "$(date -u +%FT%TZ)" "$(cat /proc/sys/kernel/random/boot_id)" "$((up - 5))" "$up" >/dev/virtio-ports/org.imago.report.0
`;

const network = '[Match]\nName=eth* en*\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n';

/** What no test here needs, and emulation makes slow. */
const masked = [
  ...[
    'e2scrub_reap.service',
    'sys-kernel-debug.mount',
    'sys-kernel-tracing.mount',
    'sys-kernel-config.mount',
  ],
  ...['dev-hugepages.mount', 'dev-mqueue.mount', 'sys-fs-fuse-connections.mount', 'getty@tty1.service'],
  ...['modprobe@configfs.service', 'modprobe@drm.service', 'modprobe@efi_pstore.service'],
  ...['modprobe@fuse.service', 'systemd-udev-load-credentials.service'],
];

function unit(exec: string, more = ''): string {
  return `[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=on-failure\nRestartSec=200ms\nExecStart=${exec}\n${more}`;
}

function extraFiles(): TarItem[] {
  const units = 'etc/systemd/system';
  const wanted = ['test-commands', 'test-report', 'systemd-networkd'];
  return [
    ...rootFiles(testEpoch),
    tarFile('usr/local/bin/test-commands', commandLoop, { mode: 0o755 }),
    tarFile('usr/local/bin/test-report', report, { mode: 0o755 }),
    tarFile('etc/systemd/network/10-all.network', network),
    tarFile(`${units}/test-commands.service`, unit('/usr/local/bin/test-commands')),
    tarFile(`${units}/test-report.service`, unit('/usr/local/bin/test-report')),
    tarFile(
      `${units}/serial-getty@hvc0.service`,
      unit(
        '/bin/bash --norc -i',
        "ExecStopPost=-/usr/bin/printf '\\\\033]imago;exit\\\\007'\nRestart=always\nStandardInput=tty-force\nStandardOutput=tty\nStandardError=tty\nTTYPath=/dev/hvc0\nSendSIGHUP=yes\n",
      ),
    ),
    ...masked.map((name) => ({
      entry: tarEntry(`${units}/${name}`, { type: 'symlink', link: '/dev/null' }),
    })),
    ...wanted.map((name) => ({
      entry: tarEntry(`${units}/multi-user.target.wants/${name}.service`, {
        type: 'symlink',
        link: name.startsWith('systemd') ? `/usr/lib/systemd/system/${name}.service` : `../${name}.service`,
      }),
    })),
  ];
}

/** Makes the disk and its boot parts in the folder. */
export async function makeMachineDisk(folder: string): Promise<MachineDisk> {
  await fetchTools({ group: 'disk' });
  const base = await openFileSource(await debianRoot());
  try {
    const tree = await mergeLayers(
      [
        { name: 'base', source: base },
        { name: 'test', source: bufferSource(await buffer(writeTar(extraFiles()))) },
      ],
      { epoch: testEpoch, maxEntries: 100_000, maxBytes: 4 * 1024 ** 3, devices: 'allow' },
    );
    const boot = await readBootFiles(tree, { epoch: testEpoch, busybox: await readToolFile('busybox') });
    const disk = await assembleDisk({
      root: rootContent(tree),
      boot,
      cmdline: 'console=ttyS0 quiet loglevel=4 systemd.show_status=0 systemd.gpt_auto=0 net.ifnames=0',
      epoch: testEpoch,
      seed: 'machine-disk',
      size: 768 * 1024 * 1024,
      path: join(folder, 'disk.raw'),
      workFolder: folder,
    });
    const [kernel, initrd] = [join(folder, 'vmlinuz'), join(folder, 'initrd')];
    await writeFile(kernel, boot.kernel);
    await writeFile(initrd, boot.initrd);
    return { path: disk.path, kernel, initrd, cmdline: disk.cmdline };
  } finally {
    await base.close();
  }
}

/** A machine's own disk over the shared one. */
export async function makeOverlay(disk: MachineDisk, path: string): Promise<string> {
  await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', disk.path, '-F', 'raw', path]);
  return path;
}
