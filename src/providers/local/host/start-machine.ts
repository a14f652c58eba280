// Starts QEMU for a machine and waits until it responds, or reports why it does not.
import { constants } from 'node:fs';
import { chmod, chown, copyFile, link, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { OpenForward, PortForward } from '../../../domain/pool/port-forward.ts';
import type { ProcessIds } from '../../../host/process/system-user.ts';
import type { MachineCards } from '../network/plan.ts';
import type { AcceleratorName } from '../qemu/accelerator.ts';
import { makeAgentPort } from '../qemu/agent-port.ts';
import { qemuArguments } from '../qemu/command.ts';
import type { HostMachine } from '../qemu/machine-host.ts';
import type { MachineFiles, MachineSockets } from '../qemu/paths.ts';
import { type Launch, lastError, launchQemu, makeEmptyFile } from '../qemu/process.ts';
import { requireFirmware } from '../qemu/program.ts';
import { connectQmp, type Qmp } from '../qemu/qmp.ts';

export interface StartOptions {
  readonly spec: HostMachine;
  readonly qemu: string;
  readonly accelerator: AcceleratorName;
  readonly sockets: MachineSockets;
  readonly files: MachineFiles;
  readonly cards: MachineCards;
  readonly guarded: boolean;
  readonly pooled: boolean;
  readonly ids?: ProcessIds;
}

export interface StartedMachine {
  readonly forwards: readonly OpenForward[];
}

const START_MS = 60_000;
const PORT_TRIES = 3;

/** Empties what the last run left. Ends what it started when it throws. */
export async function startMachine(options: StartOptions): Promise<StartedMachine> {
  const { files, sockets, ids } = options;
  await rm(files.consoleBefore, { force: true });
  await Promise.all([files.console, files.report].map((path) => makeEmptyFile(path, ids)));
  await makeAgentPort(files);
  const firmware = options.spec.boot.kind === 'uefi' ? await requireFirmware() : undefined;
  if (firmware !== undefined) {
    await copyFile(firmware.variables, files.firmwareVariables);
    await chmod(files.firmwareVariables, 0o600);
  }
  const spec = ids === undefined ? options.spec : await handOver(options.spec, files, ids);

  for (let attempt = 1; ; attempt += 1) {
    const forwards = await choosePorts(spec.network.forwards);
    const args = qemuArguments({
      ...options,
      spec,
      forwards,
      ...(firmware === undefined ? {} : { firmware }),
    });
    const launch = await launchQemu({ ...options, args, folder: spec.folder });
    try {
      const qmp = await waitForControl(sockets.qmp, launch, files);
      qmp.close();
      return { forwards };
    } catch (error) {
      launch.kill();
      await launch.ended.catch(() => undefined);
      const taken = error instanceof ImagoError && error.code === 'machine-port-taken';
      const chosen = spec.network.forwards.every(({ hostPort }) => hostPort === undefined);
      if (!taken || !chosen || attempt === PORT_TRIES) throw error;
    }
  }
}

/**
 * Gives the user of QEMU the files that QEMU writes, and brings those that it reads into the machine's folder, where that
 * user can neither add nor replace a name.
 */
async function handOver(spec: HostMachine, files: MachineFiles, ids: ProcessIds): Promise<HostMachine> {
  await chmod(spec.folder, 0o711);
  for (const path of [spec.disk, files.agentIn, files.firmwareVariables])
    await chown(path, ids.uid, ids.gid).catch(ignoreMissing);
  const { backing, boot } = spec;
  return {
    ...spec,
    ...(backing === undefined ? {} : { backing: await bringNear(backing, files.backing) }),
    boot:
      boot.kind !== 'direct'
        ? boot
        : {
            ...boot,
            kernel: await bringNear(boot.kernel, files.kernel),
            initrd: await bringNear(boot.initrd, files.initrd),
          },
  };
}

/** Returns a second name of the file, which takes no space, or a copy if the file system has no hard links. */
async function bringNear(path: string, near: string): Promise<string> {
  await rm(near, { force: true });
  await link(path, near).catch(() => copyFile(path, near, constants.COPYFILE_FICLONE));
  await chmod(near, 0o444);
  return basename(near);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function waitForControl(path: string, launch: Launch, files: MachineFiles): Promise<Qmp> {
  let ended: { readonly code: number | undefined } | undefined;
  const end = launch.ended.then((code) => {
    ended = { code };
  });
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    const qmp = await connectQmp(path, () => undefined).catch(() => undefined);
    if (qmp !== undefined) return qmp;
    if (ended !== undefined) throw startFailure(await lastError(files), ended.code);
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
  throw new ImagoError('machine-start-failed', `QEMU did not answer within ${START_MS} ms`);
}

function startFailure(words: string | undefined, code: number | undefined): ImagoError {
  const said = words ?? `it ended with ${code ?? 'no trace'}`;
  if (/Could not set up host forwarding rule/.test(said)) {
    const port = /127\.0\.0\.1:(\d+)/.exec(said)?.[1];
    return new ImagoError('machine-port-taken', `Port ${port ?? ''} of this host is in use.`, {
      details: { port: Number(port) },
    });
  }
  if (/Cannot allocate memory|cannot set up guest memory/.test(said))
    return new ImagoError('machine-start-failed', `There is not enough memory for the machine: ${said}`, {
      hint: 'Give the machine less memory, or stop another one.',
    });
  if (/Failed to get "write" lock|another process using the image/.test(said))
    return new ImagoError('machine-start-failed', `another process has the machine's disk open`);
  return new ImagoError('machine-start-failed', `QEMU could not start the machine: ${said}`);
}

async function choosePorts(forwards: readonly PortForward[]): Promise<OpenForward[]> {
  const chosen: OpenForward[] = [];
  for (const { guestPort, hostPort } of forwards)
    chosen.push({ guestPort, hostPort: hostPort ?? (await freePort()) });
  return chosen;
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('no port'));
      });
    });
  });
}
