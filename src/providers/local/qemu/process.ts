// QEMU as a process that outlives the daemon: started in a session of its own under a shell that writes down
// how it ended, and found again by its pid file. A pid alone may be another process by now; the one that was
// started is known by the path of the pid file among its arguments.
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { systemPath } from '../../../host/process/run-tool.ts';
import type { MachineFiles } from './paths.ts';

const wrapper = `exit_file=$1; shift
"$@"
code=$?
echo "$code" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"`;

export interface Launch {
  /** Resolves with the exit code when the process has ended; only as long as this daemon lives. */
  readonly ended: Promise<number | undefined>;
  /** Ends it at once, whatever it is doing; nothing to do when it has ended. */
  kill(): void;
}

/** Starts QEMU and returns at once. What it says goes to its log. */
export async function launchQemu(
  qemu: string,
  args: readonly string[],
  folder: string,
  files: MachineFiles,
): Promise<Launch> {
  await Promise.all([files.pid, files.exit].map((path) => rm(path, { force: true })));
  const log = openSync(files.log, 'w', 0o600);
  try {
    const child = spawn('/bin/sh', ['-c', wrapper, 'imago-machine', files.exit, qemu, ...args], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: systemPath, LC_ALL: 'C.UTF-8', TMPDIR: folder },
    });
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

/** The pid of the QEMU that wrote this pid file, if that very process still runs. */
export async function findProcess(pidFile: string): Promise<number | undefined> {
  const pid = Number((await readText(pidFile))?.trim());
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return (await commandOf(pid))?.includes(pidFile) === true ? pid : undefined;
}

/** Ends the process at once; nothing to do when it is gone. */
export async function killProcess(pidFile: string): Promise<void> {
  const pid = await findProcess(pidFile);
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Empty for what is left of a process that has ended and was not collected yet. */
async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') return readText(`/proc/${pid}/cmdline`);
  return promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}

export async function readExitCode(path: string): Promise<number | undefined> {
  const text = (await readText(path))?.trim();
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** The last line that QEMU said, without its own name and time. */
export async function lastWords(files: MachineFiles): Promise<string | undefined> {
  const lines = (await readText(files.log))?.trim().split('\n') ?? [];
  const errors = lines.filter((line) => !/\bwarning:/.test(line));
  const line = errors.at(-1)?.replace(/^qemu-system-\S+: /, '');
  return line === undefined || line === '' ? undefined : line.slice(0, 500);
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
