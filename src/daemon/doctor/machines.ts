// Checks what machines need on this host: QEMU, firmware, Perl for their networks, memory, and an accelerator.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemUsers } from '../../host/process/system-user.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { localPaths } from '../../providers/local/state/context.ts';
import { localFolder, machineService } from '../providers/local-machines.ts';
import { type CheckResult, type DoctorCheck, missing, ok, warn } from './check.ts';
import { checkServiceUser, findProgram, installCommand, outputOf, versionIn } from './probe.ts';

const group = 'Machines';
const recommendedMachines = 3;
const joinGroup = 'Give yourself access to /dev/kvm (sudo usermod -aG kvm "$USER")';
const openToGroup = 'Open /dev/kvm to a group (chgrp kvm /dev/kvm && chmod 660 /dev/kvm)';
const firmwareFiles = [
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
    { id: 'machines.images', group, title: 'Machine images', run: () => checkImages(home) },
  ];
}

function qemuName(): string {
  return `qemu-system-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}`;
}

async function checkQemu(signal: AbortSignal): Promise<CheckResult> {
  const qemu = findProgram(qemuName());
  const version =
    qemu === undefined ? undefined : versionIn((await outputOf(qemu, ['--version'], signal)) ?? '');
  if (version !== undefined) return ok(`QEMU ${version.join('.')} at ${qemu}.`);
  return missing(
    'QEMU is not installed: the local provider cannot start machines.',
    installCommand(qemuPackage()),
  );
}

/** Returns the hint for commands that need machines on a host that cannot start any; `undefined` if it can. */
export function missingMachineTools(find = findProgram): string | undefined {
  const lacking = [qemuName(), 'qemu-img'].filter((program) => find(program) === undefined);
  if (lacking.length === 0) return undefined;
  return `${lacking.join(' and ')} not found. Install QEMU: ${installCommand(machinePackages())}; then restart the daemon (\`imago down\`, \`imago up\`). To simulate instead, pass --provider sim.`;
}

/** Returns the Debian packages that machines need. */
function machinePackages(): string {
  return `${qemuPackage()} qemu-utils ovmf`;
}

function qemuPackage(): string {
  return process.arch === 'arm64' ? 'qemu-system-arm' : 'qemu-system-x86';
}

function checkQemuImg(): CheckResult {
  const found = findProgram('qemu-img');
  if (found !== undefined) return ok(`At ${found}.`);
  return missing('qemu-img is not installed.', installCommand('qemu-utils'));
}

function checkFirmware(): CheckResult {
  const found = firmwareFiles.find((path) => existsSync(path));
  if (found !== undefined) return ok(`At ${found}.`);
  return missing(
    'The UEFI firmware for QEMU is not installed: generation 2 images cannot boot.',
    installCommand('ovmf'),
  );
}

async function checkPerl(): Promise<CheckResult> {
  const { perl } = await import('../../providers/local/network/guard.ts');
  if (existsSync(perl)) return ok(`At ${perl}.`);
  return missing(`${perl} is not installed: machines have no network.`, installCommand('perl-base'));
}

/** Starts a machine to test it, unless the result for this host is known. */
async function checkAccelerator(home: string, { env, uid }: ProcessEnvironment): Promise<CheckResult> {
  const qemu = findProgram(qemuName());
  if (qemu === undefined) {
    return warn('It is selected when QEMU is installed.', installCommand(qemuPackage()));
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
  if (name !== 'tcg') return ok(`Machines use ${name}: ${reason}.`);
  return warn(
    `Machines run several times slower, with ${reason}.`,
    existsSync('/dev/kvm')
      ? `${uid === 0 ? openToGroup : joinGroup}, or enable full nested virtualization.`
      : 'Enable virtualization in the firmware.',
  );
}

/** Checks the memory for the machines of a pool. The check of the host is about the daemon. */
async function checkMemory(): Promise<CheckResult> {
  const { freeMb, systemGauge } = await import('../../providers/local/state/memory.ts');
  const { readSize } = await import('../../providers/local/state/machine-size.ts');
  const free = freeMb(systemGauge, []);
  const count = Math.floor(free / readSize('small').memoryMb);
  const detail = `${free} MB are free now: room for ${count} more small machines.`;
  if (count >= recommendedMachines) return ok(detail);
  return warn(detail, 'Stop other processes, or use smaller machines: `--size tiny`.');
}

async function checkImages(home: string): Promise<CheckResult> {
  const { listImages } = await import('../../providers/local/state/image-cache.ts');
  const images = await listImages(localPaths(localFolder(home)).images);
  const megabytes = Math.round(images.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6);
  return ok(`${images.length} disks are cached for machines, ${megabytes} MB.`);
}
