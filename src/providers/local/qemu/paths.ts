// Where the files of one machine are. Sockets need short paths (108 bytes on Linux, 104 on macOS), so they
// stand in a folder of their own; what is kept stands in the machine's folder.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ImagoError } from '../../../domain/error/imago-error.ts';

export interface MachineSockets {
  /** Holds the others, and nothing else. */
  readonly folder: string;
  readonly qmp: string;
  readonly commands: string;
  readonly shell: string;
  /** The agent's port, as QEMU takes a pipe: it reads `PATH.in`, and what it writes goes to the report as well. */
  readonly report: string;
  readonly imds: string;
  readonly wire: string;
}

export interface MachineFiles {
  readonly console: string;
  /** The end of the console before it was cut. */
  readonly consoleBefore: string;
  readonly report: string;
  readonly firmwareVariables: string;
  readonly pid: string;
  /** The exit code of QEMU, once it has ended. */
  readonly exit: string;
  /** What QEMU itself says. */
  readonly log: string;
  /** The script by which QEMU carries a connection from the machine to one of the two services. */
  readonly relay: string;
}

const MAX_SOCKET_PATH = 103;

/** The same short name for the same machine, whatever its own name has. */
export function machineKey(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

export function machineSockets(socketFolder: string, id: string): MachineSockets {
  const folder = join(socketFolder, machineKey(id));
  const commands = join(folder, 'commands');
  if (Buffer.byteLength(commands) > MAX_SOCKET_PATH)
    throw new ImagoError('input-invalid', `the folder for sockets has too long a path: ${socketFolder}`, {
      hint: `A socket's path may have at most ${MAX_SOCKET_PATH} bytes. Set XDG_RUNTIME_DIR to a shorter folder.`,
    });
  return {
    folder,
    commands,
    qmp: join(folder, 'qmp'),
    shell: join(folder, 'shell'),
    report: join(folder, 'report'),
    imds: join(folder, 'imds'),
    wire: join(folder, 'wire'),
  };
}

export function machineFiles(folder: string): MachineFiles {
  return {
    console: join(folder, 'console.log'),
    consoleBefore: join(folder, 'console.before.log'),
    report: join(folder, 'report.jsonl'),
    firmwareVariables: join(folder, 'firmware.fd'),
    pid: join(folder, 'qemu.pid'),
    exit: join(folder, 'qemu.exit'),
    log: join(folder, 'qemu.log'),
    relay: join(folder, 'relay.sh'),
  };
}
