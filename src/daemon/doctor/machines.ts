// What running machines on this computer needs: QEMU, firmware, and KVM for speed.
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram, installCommand, outputOf, versionIn } from './probe.ts';

const group = 'Machines';
const KVM = '/dev/kvm';
const BOOT_PATIENCE_MS = 5000;
const FIRMWARE_LAST_WORDS = 'No bootable device';
const FIRMWARES = [
  '/usr/share/OVMF/OVMF_CODE_4M.fd',
  '/usr/share/OVMF/OVMF_CODE.fd',
  '/usr/share/edk2/x64/OVMF_CODE.4m.fd',
];

export function machineChecks(): readonly DoctorCheck[] {
  return [
    { id: 'machines.qemu', group, title: 'QEMU', run: checkQemu },
    { id: 'machines.qemu-img', group, title: 'qemu-img', run: checkQemuImg },
    { id: 'machines.uefi', group, title: 'UEFI firmware', run: checkFirmware },
    { id: 'machines.kvm', group, title: 'KVM', run: checkKvm },
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
    fix: installCommand(process.arch === 'arm64' ? 'qemu-system-arm' : 'qemu-system-x86'),
  };
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

/** Whether the device is there says little (nested virtualisation may hang): a machine must really run on it. */
async function checkKvm(signal: AbortSignal): Promise<CheckResult> {
  const slow = 'Machines run without it, several times slower.';
  if (!existsSync(KVM)) {
    return {
      state: 'warn',
      detail: `${KVM} does not exist. ${slow}`,
      fix: 'Turn on virtualisation in the firmware.',
    };
  }
  try {
    accessSync(KVM, constants.R_OK | constants.W_OK);
  } catch {
    return {
      state: 'warn',
      detail: `You may not use ${KVM}. ${slow}`,
      fix: 'sudo usermod -aG kvm "$USER", then sign in again',
    };
  }
  const qemu = findProgram(qemuName());
  if (qemu === undefined || process.arch !== 'x64') return { state: 'ok', detail: `${KVM} can be opened.` };
  const { booted, complaint } = await bootFirmware(qemu, signal);
  if (booted && complaint === undefined) return { state: 'ok', detail: 'A machine starts on it.' };
  return {
    state: 'warn',
    detail: booted
      ? `A machine starts on it, but it lacks what kernels expect (${complaint}). Machines may hang.`
      : `${KVM} can be opened, but a machine on it does not start. ${slow}`,
    fix: 'Turn on full nested virtualisation where this machine itself runs.',
  };
}

interface FirmwareBoot {
  readonly booted: boolean;
  /** What QEMU says that the processor cannot do. */
  readonly complaint: string | undefined;
}

/** Starts an empty machine and waits for the last words of its firmware on the debug port. */
function bootFirmware(qemu: string, signal: AbortSignal): Promise<FirmwareBoot> {
  const debugPort = ['-chardev', 'stdio,id=debug', '-device', 'isa-debugcon,iobase=0x402,chardev=debug'];
  const args = [
    '-accel',
    'kvm',
    '-m',
    '32',
    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    ...debugPort,
  ];
  return new Promise((resolve) => {
    const machine = spawn(qemu, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
    let said = '';
    let warned = '';
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      machine.kill('SIGKILL');
      machine.stdout.destroy();
      machine.stderr.destroy();
      machine.unref();
      const complaint = /doesn't support requested feature: (.*)/.exec(warned)?.[1];
      resolve({ booted: said.includes(FIRMWARE_LAST_WORDS), complaint });
    };
    const timer = setTimeout(end, BOOT_PATIENCE_MS);
    signal.addEventListener('abort', end, { once: true });
    machine.once('error', end);
    machine.once('exit', end);
    machine.stderr.on('data', (chunk: Buffer) => {
      warned += chunk.toString();
    });
    machine.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(FIRMWARE_LAST_WORDS)) end();
    });
  });
}
