// The assembled disk starts to a login prompt by UEFI and by BIOS, from NVMe and SCSI disks as clouds have them; and
// its root grows when the disk is larger than the image. Every other machine of these tests has virtio.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AssembledDisk, assembleDisk, rootContent } from '../../src/disk/assemble/assemble-disk.ts';
import { readBootFiles } from '../../src/disk/boot/boot-files.ts';
import { rootFiles } from '../../src/disk/boot/root-files.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { mergeLayers } from '../../src/disk/tar/merge.ts';
import { tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { appendVhdFooter } from '../../src/disk/vhd/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';
import { bufferSource } from '../support/buffer-source.ts';
import { debianRoot, testEpoch } from '../support/debian-root.ts';
import { startMachine, uefiFirmware } from '../support/serial-machine.ts';

const report = [
  '(df --output=size / | sed -n "2s/^ */ROOT-KIB /p"',
  'findmnt -no OPTIONS / | sed "s/^/ROOT-OPTIONS /"',
  'systemctl --failed --no-legend --plain | sed "s/^/FAILED-UNIT /"',
  'echo REPORT-END) >/dev/console',
];
const reportUnit = `[Unit]
After=imago-grow-root.service systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c '${report.join('; ')}'
`;

let folder: string;
let disk: AssembledDisk;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-boot-'));
  await fetchTools({ group: 'disk' });
  const base = await openFileSource(await debianRoot());
  try {
    const units = 'etc/systemd/system';
    const extra = await buffer(
      writeTar([
        ...rootFiles(testEpoch),
        tarFile(`${units}/report.service`, reportUnit),
        {
          entry: tarEntry(`${units}/multi-user.target.wants/report.service`, {
            type: 'symlink',
            link: '../report.service',
          }),
        },
      ]),
    );
    const tree = await mergeLayers(
      [
        { name: 'base', source: base },
        { name: 'test', source: bufferSource(extra) },
      ],
      { epoch: testEpoch, maxEntries: 100_000, maxBytes: 4 * 1024 ** 3, devices: 'allow' },
    );
    const boot = await readBootFiles(tree, { epoch: testEpoch, busybox: await readToolFile('busybox') });
    disk = await assembleDisk({
      root: rootContent(tree),
      boot,
      cmdline: 'console=ttyS0 loglevel=4 systemd.show_status=0 systemd.default_device_timeout_sec=600',
      epoch: testEpoch,
      seed: 'disk-boots',
      size: 768 * 1024 * 1024,
      path: join(folder, 'disk.vhd'),
      workFolder: folder,
    });
    await appendVhdFooter(disk.path, { timestamp: testEpoch, uuid: disk.layout.diskGuid });
  } finally {
    await base.close();
  }
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function overlay(name: string, size?: string): Promise<string> {
  const path = join(folder, `${name}.qcow2`);
  const args = [
    'create',
    '-q',
    '-f',
    'qcow2',
    '-b',
    disk.path,
    '-F',
    'vpc',
    path,
    ...(size === undefined ? [] : [size]),
  ];
  await runTool('qemu-img', args);
  return path;
}

function drive(path: string, device: readonly string[]): string[] {
  return [
    '-drive',
    `if=none,id=root,file=${path},format=qcow2,cache=unsafe`,
    ...device.flatMap((part) => ['-device', part]),
  ];
}

/** Starts a machine and returns its console when it shows both the report and a login prompt. */
async function start(args: readonly string[]): Promise<string> {
  const machine = startMachine(args, folder);
  try {
    const seen = await Promise.all(['login:', 'REPORT-END'].map((mark) => machine.expect(mark, 560)));
    const text = seen.find((console) => console.includes('login:') && console.includes('REPORT-END')) ?? '';
    expect(text).not.toContain('FAILED-UNIT');
    expect(text).toMatch(/ROOT-OPTIONS rw/);
    return text;
  } finally {
    await machine.stop();
  }
}

function rootKiB(console: string): number {
  return Number(/ROOT-KIB (\d+)/.exec(console)?.[1]);
}

describe.concurrent('the assembled disk starts', () => {
  it('by UEFI from NVMe, and its root grows with its disk', async () => {
    const console = await start([
      ...(await uefiFirmware(folder)),
      ...drive(await overlay('uefi', '2G'), ['nvme,drive=root,serial=root']),
    ]);
    expect(rootKiB(console)).toBeGreaterThan(1_800_000);
  });

  it('by BIOS from SCSI', async () => {
    const console = await start(drive(await overlay('bios'), ['virtio-scsi-pci', 'scsi-hd,drive=root']));
    expect(rootKiB(console)).toBeLessThan(768 * 1024);
  });
});
