// Where the files of one machine are. Sockets need short paths (108 bytes on Linux, 104 on macOS), so they
// are in folders of their own; what is kept is in the machine's folder. If the daemon is root, QEMU runs as another
// user. That user writes to the files that it is given, and adds names only in the folders of its own sockets: root
// never follows a name that could have been replaced by a link.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ImagoError } from '../../../domain/error/imago-error.ts';

export interface MachineSockets {
  /** Holds the sockets that QEMU makes, and nothing else. Belongs to the user that QEMU runs as. */
  readonly folder: string;
  readonly qmp: string;
  readonly commands: string;
  readonly shell: string;
  /** Holds the sockets and programs that the daemon makes for the machine. Belongs to the daemon. */
  readonly services: string;
  readonly imds: string;
  readonly wire: string;
  /** The card in the network of the pool, as the switch sees it. */
  readonly pool: string;
  /** What the machine sends, on its way to the filter, and what the filter passes on. */
  readonly guardOut: string;
  readonly guardIn: string;
}

export interface MachineFiles {
  readonly console: string;
  /** The end of the console before it was cut. */
  readonly consoleBefore: string;
  readonly report: string;
  /** The agent's port: the pipe that QEMU reads, and where it writes to; the report is the log of that. */
  readonly agentIn: string;
  readonly agentOut: string;
  readonly firmwareVariables: string;
  /** The image and the boot parts, by names that QEMU can reach if it runs as another user. */
  readonly backing: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly pid: string;
  /** The exit code of QEMU, once it has ended. */
  readonly exit: string;
  /** What QEMU itself says. */
  readonly log: string;
  /** The script by which QEMU carries a connection from the machine to one of the two services. */
  readonly relay: string;
  /** The script that starts the filter of what the machine sends, and the ports that the filter lets through. */
  readonly guard: string;
  readonly endpoints: string;
  /** The script that starts the machine's switch in the network of its pool. */
  readonly switch: string;
}

const MAX_SOCKET_PATH = 103;

/** The same short name for the same machine, whatever its own name has. */
export function machineKey(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

export function machineSockets(socketFolder: string, id: string): MachineSockets {
  const folder = join(socketFolder, machineKey(id));
  const services = `${folder}-host`;
  if (Buffer.byteLength(poolSocket(poolFolder(socketFolder, id), '02:00:00:00:00:00')) > MAX_SOCKET_PATH)
    throw new ImagoError('input-invalid', `the folder for sockets has too long a path: ${socketFolder}`, {
      hint: `A socket's path may have at most ${MAX_SOCKET_PATH} bytes. Set XDG_RUNTIME_DIR to a shorter folder.`,
    });
  return {
    folder,
    services,
    commands: join(folder, 'commands'),
    qmp: join(folder, 'qmp'),
    shell: join(folder, 'shell'),
    imds: join(services, 'imds'),
    wire: join(services, 'wire'),
    pool: join(folder, 'pool'),
    guardOut: join(folder, 'out'),
    guardIn: join(folder, 'in'),
  };
}

/** The network of a pool: one socket for each machine, named after the address of its card. */
export function poolFolder(socketFolder: string, pool: string): string {
  return join(socketFolder, `pool-${machineKey(pool)}`);
}

export function poolSocket(folder: string, mac: string): string {
  return join(folder, mac.replaceAll(':', ''));
}

export function machineFiles(folder: string): MachineFiles {
  return {
    console: join(folder, 'console.log'),
    consoleBefore: join(folder, 'console.before.log'),
    report: join(folder, 'report.jsonl'),
    agentIn: join(folder, 'agent.in'),
    agentOut: join(folder, 'agent.out'),
    firmwareVariables: join(folder, 'firmware.fd'),
    backing: join(folder, 'image.raw'),
    kernel: join(folder, 'kernel'),
    initrd: join(folder, 'initrd'),
    pid: join(folder, 'qemu.pid'),
    exit: join(folder, 'qemu.exit'),
    log: join(folder, 'qemu.log'),
    relay: join(folder, 'relay.sh'),
    guard: join(folder, 'guard.sh'),
    endpoints: join(folder, 'endpoints'),
    switch: join(folder, 'switch.sh'),
  };
}
