// The assembled disk starts to a login prompt by UEFI, by BIOS and with the kernel given directly, from
// virtio, SCSI and NVMe disks; and its root grows when the disk is larger than the image.
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BootFiles, readBootFiles } from '../../src/images/boot-files.ts';
import { bufferSource, openFileSource } from '../../src/images/byte-source.ts';
import { type AssembledDisk, assembleDisk, rootContent } from '../../src/images/disk.ts';
import { fetchTools } from '../../src/images/fetch-tools.ts';
import { rootFiles } from '../../src/images/root-files.ts';
import { runTool } from '../../src/images/run-tool.ts';
import { mergeLayers } from '../../src/images/tar-merge.ts';
import { tarEntry, tarFile, writeTar } from '../../src/images/tar-writer.ts';
import { readToolFile } from '../../src/images/tools.ts';
import { appendVhdFooter } from '../../src/images/vhd-writer.ts';
import { debianRoot, testEpoch } from '../support/debian-root.ts';
import { startMachine } from '../support/serial-machine.ts';

const reportUnit = `[Unit]
After=imago-grow-root.service systemd-user-sessions.service
[Service]
Type=oneshot
StandardOutput=tty
TTYPath=/dev/ttyS0
ExecStart=/bin/sh -c "df --output=size /; findmnt -no OPTIONS /; systemctl --failed --no-legend; echo REPORT-END"
`;

let folder: string;
let disk: AssembledDisk;
let boot: BootFiles;

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
    boot = await readBootFiles(tree, { epoch: testEpoch, busybox: await readToolFile('busybox') });
    disk = await assembleDisk({
      root: rootContent(tree),
      boot,
      cmdline: 'console=ttyS0 loglevel=4 systemd.show_status=0',
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

async function consoleUntil(args: readonly string[], marks: readonly string[]): Promise<string> {
  const machine = startMachine(args, folder);
  try {
    let text = '';
    for (const mark of marks) text = await machine.expect(mark, 540);
    return text.replaceAll('\r', '');
  } finally {
    await machine.stop();
  }
}

async function report(
  args: readonly string[],
): Promise<{ rootKiB: number; options: string; failed: string }> {
  const text = await consoleUntil(args, ['login:', 'REPORT-END']);
  const [, rootKiB = '', options = '', failed = ''] =
    /1K-blocks\n\s*(\d+)\n(\S+)\n([\s\S]*?)REPORT-END/.exec(text) ?? [];
  return { rootKiB: Number(rootKiB), options, failed };
}

describe.concurrent('the assembled disk starts', () => {
  it('by UEFI from virtio, and its root grows with its disk', async () => {
    const variables = join(folder, 'vars.fd');
    await copyFile('/usr/share/OVMF/OVMF_VARS_4M.fd', variables);
    const result = await report([
      ...['-drive', 'if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd'],
      ...['-drive', `if=pflash,format=raw,file=${variables}`],
      ...drive(await overlay('uefi', '2G'), ['virtio-blk-pci,drive=root']),
    ]);
    expect(result.rootKiB).toBeGreaterThan(1_800_000);
    expect(result.options).toContain('rw');
    expect(result.failed).toBe('');
  });

  it('by BIOS from SCSI', async () => {
    const result = await report(drive(await overlay('bios'), ['virtio-scsi-pci', 'scsi-hd,drive=root']));
    expect(result.rootKiB).toBeLessThan(768 * 1024);
    expect(result.failed).toBe('');
  });

  it('with the kernel given directly, from NVMe', async () => {
    await writeFile(join(folder, 'vmlinuz'), boot.kernel);
    await writeFile(join(folder, 'initrd'), boot.initrd);
    const kernel = ['-kernel', 'vmlinuz', '-initrd', 'initrd', '-append', disk.cmdline];
    const result = await report([
      ...kernel,
      ...drive(await overlay('direct'), ['nvme,drive=root,serial=root']),
    ]);
    expect(result.failed).toBe('');
  });
});
