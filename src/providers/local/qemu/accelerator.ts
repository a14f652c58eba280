// Selects the accelerator. A device file proves little: KVM inside of a machine can hang, or emulate each instruction a
// thousand times slower than software does. So a machine is started once: its firmware loads a boot sector that counts to a
// hundred million and exits. The result is cached for this host.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, platform, release, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFileDurably } from '../../../host/files/durable-files.ts';
import type { ProcessIds, SystemUser } from '../../../host/process/system-user.ts';

export type AcceleratorName = 'kvm' | 'hvf' | 'tcg';

export interface Accelerator {
  readonly name: AcceleratorName;
  /** Human-readable reason for the choice. */
  readonly reason: string;
}

export interface ProbeOptions {
  readonly qemu: string;
  /** Caches the result. Without it, every call probes. */
  readonly cacheFile?: string;
  /** The user that machines run as; absent: the user of this process. */
  readonly ids?: ProcessIds;
  readonly deadlineMs?: number;
}

const PROBE_DEADLINE_MS = 5000;
const PASSED = 85;

/** Probes once per host: the same kernel, processor, permissions, and QEMU have the same result. */
export async function probeAccelerator(options: ProbeOptions): Promise<Accelerator> {
  const fingerprint = hostFingerprint(options);
  const known = await readKnown(options.cacheFile, fingerprint);
  if (known !== undefined) return known;
  const accelerator = await choose(options);
  if (options.cacheFile !== undefined) {
    await mkdir(dirname(options.cacheFile), { recursive: true });
    await writeFileDurably(options.cacheFile, JSON.stringify({ fingerprint, ...accelerator }));
  }
  return accelerator;
}

/**
 * A process of this user. Its group is that of /dev/kvm where the device is open to a group, because a process that
 * root starts for another user has no further groups.
 */
export function machineIds({ uid, gid }: SystemUser): ProcessIds {
  const device = statSync('/dev/kvm', { throwIfNoEntry: false });
  const forGroup = device !== undefined && (device.mode & 0o060) === 0o060 && device.gid !== 0;
  return { uid, gid: forGroup ? device.gid : gid };
}

async function choose({ qemu, ids, deadlineMs = PROBE_DEADLINE_MS }: ProbeOptions): Promise<Accelerator> {
  const hardware = hardwareOf();
  if (typeof hardware !== 'string') return hardware;
  const trouble = await bootProbe(qemu, hardware, deadlineMs, ids);
  if (trouble === undefined) return { name: hardware, reason: `a probe started with ${hardware}` };
  return { name: 'tcg', reason: `software emulation: a probe with ${hardware} ${trouble}` };
}

function hardwareOf(): 'kvm' | 'hvf' | Accelerator {
  const tcg = (why: string): Accelerator => ({ name: 'tcg', reason: `software emulation: ${why}` });
  if (process.arch !== 'x64') return tcg(`images are for x86-64, and this processor is ${process.arch}`);
  if (platform() === 'darwin') return 'hvf';
  if (platform() !== 'linux') return tcg(`no hypervisor is known for ${platform()}`);
  const access = kvmAccess();
  if (access === 'absent') return tcg('there is no /dev/kvm');
  if (access === 'denied') return tcg('this user may not open /dev/kvm (add it to the group kvm)');
  return 'kvm';
}

function kvmAccess(): 'absent' | 'denied' | 'open' {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return 'open';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : 'denied';
  }
}

/** Starts a machine whose boot sector runs for a while and then exits. Returns the failure, if any. */
export async function bootProbe(
  qemu: string,
  accelerator: AcceleratorName,
  deadlineMs: number,
  ids?: ProcessIds,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-probe-'));
  try {
    const disk = join(folder, 'disk');
    await writeFile(disk, bootSector());
    if (ids !== undefined) await Promise.all([folder, disk].map((path) => chown(path, ids.uid, ids.gid)));
    return await runProbe(qemu, accelerator, disk, deadlineMs, ids);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runProbe(
  qemu: string,
  accelerator: AcceleratorName,
  disk: string,
  deadlineMs: number,
  ids: ProcessIds | undefined,
): Promise<string | undefined> {
  const args = [
    ...['-M', 'q35', '-accel', accelerator, '-m', '64', '-nodefaults', '-no-user-config', '-display', 'none'],
    ...['-device', 'isa-debug-exit,iobase=0x501,iosize=1'],
    ...['-drive', `if=ide,format=raw,file=${disk.replaceAll(',', ',,')}`],
  ];
  const child = spawn(qemu, args, { ...ids, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-500);
  });
  return new Promise((resolve) => {
    // A process that is stuck in the kernel cannot be killed; it is not waited for.
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      child.stderr.destroy();
      child.unref();
      resolve(`did not end within ${deadlineMs} ms`);
    }, deadlineMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve(`could not be started: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      const end = code === null ? `signal ${signal}` : `code ${code}`;
      resolve(code === PASSED ? undefined : `ended with ${end}: ${said.trim().split('\n').at(-1) ?? ''}`);
    });
  });
}

/** mov ecx,100000000; dec ecx; jnz; mov dx,0x501; mov al,42; out dx,al (which ends QEMU with 42*2+1); hlt. */
function bootSector(): Buffer {
  const disk = Buffer.alloc(1024 * 1024);
  const code = [0x66, 0xb9, 0, 0xe1, 0xf5, 0x05, 0x66, 0x49, 0x75, 0xfc];
  disk.set([...code, 0xba, 0x01, 0x05, 0xb0, 0x2a, 0xee, 0xf4, 0xeb, 0xfd]);
  disk.set([0x55, 0xaa], 510);
  return disk;
}

function hostFingerprint({ qemu, ids }: ProbeOptions): string {
  const { size, mtimeMs } = statSync(qemu);
  const facts = [platform(), release(), process.arch, cpus()[0]?.model, cpus().length, kvmAccess()];
  return createHash('sha256')
    .update(JSON.stringify([...facts, qemu, size, mtimeMs, ids]))
    .digest('hex');
}

async function readKnown(file: string | undefined, fingerprint: string): Promise<Accelerator | undefined> {
  if (file === undefined) return undefined;
  try {
    const { name, reason, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    const valid = rest.fingerprint === fingerprint && typeof reason === 'string';
    return valid && (name === 'kvm' || name === 'hvf' || name === 'tcg') ? { name, reason } : undefined;
  } catch {
    return undefined;
  }
}
