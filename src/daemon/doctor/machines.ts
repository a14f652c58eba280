// What running machines on this computer needs: QEMU, firmware, memory, and an accelerator for speed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { localPaths } from '../../providers/local/state/context.ts';
import { localFolder } from '../providers/local-machines.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram, installCommand, outputOf, versionIn } from './probe.ts';

const group = 'Machines';
const GOOD_MACHINES = 3;
const FIRMWARES = [
  '/usr/share/OVMF/OVMF_CODE_4M.fd',
  '/usr/share/OVMF/OVMF_CODE.fd',
  '/usr/share/edk2/x64/OVMF_CODE.4m.fd',
];

export function machineChecks(home: string): readonly DoctorCheck[] {
  return [
    { id: 'machines.qemu', group, title: 'QEMU', run: checkQemu },
    { id: 'machines.qemu-img', group, title: 'qemu-img', run: checkQemuImg },
    { id: 'machines.uefi', group, title: 'UEFI firmware', run: checkFirmware },
    { id: 'machines.accelerator', group, title: 'Accelerator', run: () => checkAccelerator(home) },
    { id: 'machines.memory', group, title: 'Memory for machines', run: checkMemory },
    { id: 'machines.images', group, title: 'Images of machines', run: () => checkImages(home) },
  ];
}

export function qemuName(): string {
  return `qemu-system-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}`;
}

async function checkQemu(signal: AbortSignal): Promise<CheckResult> {
  const qemu = findProgram(qemuName());
  const version =
    qemu === undefined ? undefined : versionIn((await outputOf(qemu, ['--version'], signal)) ?? '');
  if (version !== undefined) return { state: 'ok', detail: `QEMU ${version.join('.')} at ${qemu}.` };
  return {
    state: 'missing',
    detail: 'QEMU is not installed: the local provider cannot start machines.',
    fix: installCommand(qemuPackage()),
  };
}

function qemuPackage(): string {
  return process.arch === 'arm64' ? 'qemu-system-arm' : 'qemu-system-x86';
}

function checkQemuImg(): CheckResult {
  const found = findProgram('qemu-img');
  if (found !== undefined) return { state: 'ok', detail: `At ${found}.` };
  return { state: 'missing', detail: 'qemu-img is not installed.', fix: installCommand('qemu-utils') };
}

function checkFirmware(): CheckResult {
  const found = FIRMWARES.find((path) => existsSync(path));
  if (found !== undefined) return { state: 'ok', detail: `At ${found}.` };
  return {
    state: 'missing',
    detail: 'There is no UEFI firmware for QEMU: generation 2 images cannot be booted.',
    fix: installCommand('ovmf'),
  };
}

/** Asked by truly starting a machine, unless it was asked before on this very computer. */
async function checkAccelerator(home: string): Promise<CheckResult> {
  const qemu = findProgram(qemuName());
  if (qemu === undefined) {
    return {
      state: 'warn',
      detail: 'It is chosen when QEMU is installed.',
      fix: installCommand(qemuPackage()),
    };
  }
  const { probeAccelerator } = await import('../../providers/local/qemu/accelerator.ts');
  const remembered = join(localFolder(home), 'host', 'accelerator.json');
  const { name, reason } = await probeAccelerator({
    qemu,
    ...(existsSync(remembered) ? { cacheFile: remembered } : {}),
  });
  if (name !== 'tcg') return { state: 'ok', detail: `Machines run by ${name}: ${reason}.` };
  return {
    state: 'warn',
    detail: `Machines run several times slower, by ${reason}.`,
    fix: existsSync('/dev/kvm')
      ? 'Give yourself access to /dev/kvm (sudo usermod -aG kvm "$USER"), or turn on full nested virtualisation.'
      : 'Turn on virtualisation in the firmware.',
  };
}

/** For the machines of a pool; the check of this computer's memory is about the daemon. */
async function checkMemory(): Promise<CheckResult> {
  const { freeMb, systemGauge } = await import('../../providers/local/state/memory.ts');
  const { readSize } = await import('../../providers/local/state/machine-size.ts');
  const free = freeMb(systemGauge, []);
  const count = Math.floor(free / readSize('small').memoryMb);
  const detail = `${free} MB are free now: room for ${count} more small machines.`;
  if (count >= GOOD_MACHINES) return { state: 'ok', detail };
  return { state: 'warn', detail, fix: 'End other programs, or use smaller machines: `--size tiny`.' };
}

async function checkImages(home: string): Promise<CheckResult> {
  const { listImages } = await import('../../providers/local/state/image-cache.ts');
  const images = await listImages(localPaths(localFolder(home)).images);
  const megabytes = Math.round(images.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6);
  return {
    state: 'ok',
    detail: `${images.length} disks of versions are ready for machines, ${megabytes} MB.`,
  };
}
