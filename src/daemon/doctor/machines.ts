// What running machines on this host needs: QEMU, firmware, Perl for their networks, memory, and an accelerator for
// speed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemUsers } from '../../host/process/system-user.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { localPaths } from '../../providers/local/state/context.ts';
import { localFolder, machineService } from '../providers/local-machines.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram, installCommand, outputOf, versionIn } from './probe.ts';
import { checkServiceUser } from './service-user.ts';

const group = 'Machines';
const GOOD_MACHINES = 3;
const joinGroup = 'Give yourself access to /dev/kvm (sudo usermod -aG kvm "$USER")';
const openToGroup = 'Open /dev/kvm to a group (chgrp kvm /dev/kvm && chmod 660 /dev/kvm)';
const FIRMWARES = [
  '/usr/share/OVMF/OVMF_CODE_4M.fd',
  '/usr/share/OVMF/OVMF_CODE.fd',
  '/usr/share/edk2/x64/OVMF_CODE.4m.fd',
];

export function machineChecks(home: string, processEnv: ProcessEnvironment): readonly DoctorCheck[] {
  const { env, uid } = processEnv;
  const user: DoctorCheck = {
    ...{ id: 'machines.user', group, title: 'Their user' },
    run: () => checkServiceUser(machineService, 'machines', env),
  };
  return [
    { id: 'machines.qemu', group, title: 'QEMU', run: checkQemu },
    { id: 'machines.qemu-img', group, title: 'qemu-img', run: checkQemuImg },
    { id: 'machines.uefi', group, title: 'UEFI firmware', run: checkFirmware },
    { id: 'machines.perl', group, title: 'Perl', run: checkPerl },
    ...(uid === 0 ? [user] : []),
    {
      ...{ id: 'machines.accelerator', group, title: 'Accelerator' },
      run: () => checkAccelerator(home, processEnv),
    },
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

/** Everything that machines need, by Debian's names. */
export function machinePackages(): string {
  return `${qemuPackage()} qemu-utils ovmf`;
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

async function checkPerl(): Promise<CheckResult> {
  const { perl } = await import('../../providers/local/network/guard.ts');
  if (existsSync(perl)) return { state: 'ok', detail: `At ${perl}.` };
  return {
    state: 'missing',
    detail: `There is no ${perl}: machines reach neither the outside nor each other.`,
    fix: installCommand('perl-base'),
  };
}

/** Starts a machine to find out, unless the result for this host is known. */
async function checkAccelerator(home: string, { env, uid }: ProcessEnvironment): Promise<CheckResult> {
  const qemu = findProgram(qemuName());
  if (qemu === undefined) {
    return {
      state: 'warn',
      detail: 'It is chosen when QEMU is installed.',
      fix: installCommand(qemuPackage()),
    };
  }
  const { machineIds, probeAccelerator } = await import('../../providers/local/qemu/accelerator.ts');
  const remembered = join(localFolder(home), 'host', 'accelerator.json');
  const user = [env[machineService.variable] ?? machineService.user, 'nobody'].flatMap(
    (name) => systemUsers.find(name) ?? [],
  )[0];
  const { name, reason } = await probeAccelerator({
    qemu,
    ...(uid !== 0 || user === undefined ? {} : { ids: machineIds(user) }),
    ...(existsSync(remembered) ? { cacheFile: remembered } : {}),
  });
  if (name !== 'tcg') return { state: 'ok', detail: `Machines run by ${name}: ${reason}.` };
  return {
    state: 'warn',
    detail: `Machines run several times slower, by ${reason}.`,
    fix: existsSync('/dev/kvm')
      ? `${uid === 0 ? openToGroup : joinGroup}, or turn on full nested virtualization.`
      : 'Turn on virtualization in the firmware.',
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
