// QEMU as a process that outlives the daemon: started in a session of its own under a shell that records how it exited,
// and found again by its pid file. A pid alone can belong to another process by now; the one that was started has the
// name of the machine among its arguments.
//
// It runs in the machine's folder and knows what is there by relative names, so that its user need not be able to pass
// the folders above: if the daemon is root, these stay closed to the user that QEMU runs as.
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { systemPath } from '../../../host/process/run-tool.ts';
import type { ProcessIds } from '../../../host/process/system-user.ts';
import { guestName } from './command.ts';
import type { MachineFiles } from './paths.ts';

const wrapper = `umask 077
pid_file=$1; exit_file=$2; guard=$3; switch=$4; shift 4
for helper in $guard $switch; do
  until /bin/sh "$helper" $$; do sleep 1; done &
done
/bin/sh -c 'echo $$ >"$0"; exec "$@"' "$pid_file" "$@"
echo "$?" >"$exit_file"`;

export interface LaunchOptions {
  readonly qemu: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly files: MachineFiles;
  /** Whether a filter reads what the machine sends. */
  readonly guarded: boolean;
  /** Whether the machine is in the network of a pool. */
  readonly pooled: boolean;
  /** Absent: the user of this process. */
  readonly ids?: ProcessIds;
}

export interface Launch {
  /** Resolves with the exit code when the process has ended; only as long as this daemon lives. */
  readonly ended: Promise<number | undefined>;
  /** Kills it immediately. Does nothing if it has exited. */
  kill(): void;
}

/** Starts QEMU and returns immediately. Its output goes to its log. */
export async function launchQemu(options: LaunchOptions): Promise<Launch> {
  const { qemu, args, folder, files, guarded, pooled, ids } = options;
  await Promise.all([files.pid, files.exit].map((path) => makeEmptyFile(path, ids)));
  const log = openSync(files.log, 'w', 0o600);
  try {
    const child = spawn(
      '/bin/sh',
      [
        ...['-c', wrapper, 'imago-machine', basename(files.pid), basename(files.exit)],
        ...[guarded ? basename(files.guard) : '', pooled ? basename(files.switch) : '', qemu, ...args],
      ],
      {
        ...ids,
        cwd: folder,
        detached: true,
        stdio: ['ignore', log, log],
        env: { PATH: systemPath, LC_ALL: 'C.UTF-8', TMPDIR: folder },
      },
    );
    const ended = new Promise<number | undefined>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new ImagoError('machine-start-failed', `cannot start a process: ${cause.message}`, { cause })),
      );
      child.once('exit', () => resolve(readExitCode(files.exit)));
    });
    ended.catch(() => undefined);
    child.unref();
    const kill = () => {
      try {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    };
    return { ended, kill };
  } finally {
    closeSync(log);
  }
}

/** Replaces the file by an empty one that the user of the machine writes to. */
export async function makeEmptyFile(path: string, ids: ProcessIds | undefined): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, '', { mode: 0o600 });
  if (ids !== undefined) await chown(path, ids.uid, ids.gid);
}

/** The pid of the QEMU that wrote this pid file, if that exact process still runs. */
export async function findProcess(id: string, pidFile: string): Promise<number | undefined> {
  const pid = Number((await readText(pidFile))?.trim());
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return (await argumentsOf(pid)).includes(guestName(id)) ? pid : undefined;
}

/** Kills the process immediately; a process that has exited is left alone. */
export async function killProcess(id: string, pidFile: string): Promise<void> {
  const pid = await findProcess(id, pidFile);
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Empty for what is left of a process that has ended and was not collected yet. */
async function argumentsOf(pid: number): Promise<readonly string[]> {
  if (process.platform === 'linux') return (await readText(`/proc/${pid}/cmdline`))?.split('\0') ?? [];
  return promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.split(/\s/),
    () => [],
  );
}

export async function readExitCode(path: string): Promise<number | undefined> {
  const text = (await readText(path))?.trim();
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** Returns the last error of QEMU, without its name and time. */
export async function lastError(files: MachineFiles): Promise<string | undefined> {
  const lines = (await readText(files.log))?.trim().split('\n') ?? [];
  const errors = lines.filter((line) => !/\bwarning:/.test(line));
  const line = errors.at(-1)?.replace(/^qemu-system-\S+: /, '');
  return line === undefined || line === '' ? undefined : line.slice(0, 500);
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
