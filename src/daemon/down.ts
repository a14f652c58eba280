// Stops everything that belongs to a state directory: a running daemon, a hung one, and a PostgreSQL whose daemon was
// killed. Identifies processes before it signals them, so that no other process is hit.
import { accessSync, constants, existsSync, realpathSync, rmSync } from 'node:fs';
import { ImagoError } from '../domain/error/imago-error.ts';
import { type FileLock, tryFileLock, waitForFileLock } from '../host/files/file-lock.ts';
import { isSameProcess, type ProcessIdentity, signalProcess, waitForExit } from '../host/process/identity.ts';
import { pauseControlPlane } from '../kube/control-plane/control-plane.ts';
import { readDaemonFile } from '../launcher/daemon-file.ts';
import { type ProcessEnvironment, type StatePaths, stateFolder, statePaths } from '../launcher/paths.ts';
import type { StoppedProcesses } from '../launcher/spawn.ts';
import { findPostmaster, processesOn } from './postgres/postmaster.ts';
import { stopPostmaster } from './postgres/server.ts';
import {
  explainFolderError,
  type RuntimePaths,
  removeRuntimeFolders,
  runtimePaths,
  runtimePathsOf,
} from './process/paths.ts';
import { localFolder, stopLocalMachines } from './providers/local-machines.ts';

/** Longer than a clean stop takes. */
const defaultStopMs = 30_000;
const acknowledgeMs = 5000;
const killMs = 5000;
const lockMs = 5000;
/** Time for a clean power-off of all machines, including those that are still starting, before they are killed. */
const machineMs = 120_000;

export interface DownOptions {
  /** Machines keep running, and the next daemon adopts them. */
  readonly leaveMachines?: boolean;
  readonly stopMs?: number;
}

/** Calling it again, or when nothing is running, has no effect. */
export async function bringDown(
  processEnv: ProcessEnvironment,
  { leaveMachines = false, stopMs = defaultStopMs }: DownOptions = {},
): Promise<StoppedProcesses> {
  const home = stateFolder(processEnv);
  if (!existsSync(home)) return { forced: false };
  const paths = statePaths(realpathSync(home));
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFolderError(error, home);
  }
  const daemon = await stopDaemonProcess(paths, stopMs);
  const lock = await takeLock(paths);
  try {
    const postgres = await stopPostgres(paths);
    const runtime = runtimePaths(paths.home, processEnv);
    const machines = leaveMachines ? 0 : await stopMachines(paths, runtime, processEnv);
    if (!leaveMachines) await pauseControlPlane(paths.home);
    const recorded = readDaemonFile(paths.daemonFile);
    removeRuntimeFolders(runtime);
    if (recorded !== undefined) removeRuntimeFolders(runtimePathsOf(recorded.socket));
    rmSync(paths.daemonFile, { force: true });
    return {
      ...(daemon === undefined ? {} : { daemon: daemon.pid }),
      ...(postgres === undefined ? {} : { postgres }),
      ...(machines === 0 ? {} : { machines }),
      forced: daemon?.forced ?? false,
    };
  } finally {
    lock?.release();
  }
}

/** Loads the provider only if there are machines. */
async function stopMachines(
  { home }: StatePaths,
  { machineFolder }: RuntimePaths,
  processEnv: ProcessEnvironment,
): Promise<number> {
  if (!existsSync(localFolder(home))) return 0;
  return stopLocalMachines({
    ...{ home, socketFolder: machineFolder, processEnv, deadlineMs: machineMs },
    onTrouble: () => undefined,
  });
}

async function stopDaemonProcess(
  paths: StatePaths,
  stopMs: number,
): Promise<{ readonly pid: number; readonly forced: boolean } | undefined> {
  const file = readDaemonFile(paths.daemonFile);
  if (file === undefined || !isSameProcess(file.process)) return undefined;
  const { process: daemon } = file;
  signalProcess(daemon, 'SIGTERM');
  if (await stops(paths, daemon, stopMs)) return { pid: daemon.pid, forced: false };
  signalProcess(daemon, 'SIGKILL');
  if (await waitForExit(daemon, killMs)) return { pid: daemon.pid, forced: true };
  throw new ImagoError('daemon-not-stopped', `The daemon (process ${daemon.pid}) cannot be stopped.`, {
    hint: 'It can belong to another user, or hang in the kernel. Run `ps -o user,stat,wchan`.',
  });
}

/** Returns whether the daemon exits in time. A hung one is detected early: a stop first records that it is not ready. */
async function stops(paths: StatePaths, daemon: ProcessIdentity, stopMs: number): Promise<boolean> {
  if (await waitForExit(daemon, Math.min(acknowledgeMs, stopMs))) return true;
  if (readDaemonFile(paths.daemonFile)?.ready === true) return false;
  return waitForExit(daemon, stopMs - acknowledgeMs);
}

async function takeLock(paths: StatePaths): Promise<FileLock | undefined> {
  if (!existsSync(paths.lock)) return undefined;
  const lock = tryFileLock(paths.lock) ?? (await waitForFileLock(paths.lock, lockMs));
  if (lock !== undefined) return lock;
  throw new ImagoError(
    'daemon-not-stopped',
    `An unknown daemon, which is not in ${paths.daemonFile}, holds ${paths.lock}.`,
    {
      hint: `Find the process that has it open with \`fuser -v ${paths.lock}\`.`,
    },
  );
}

async function stopPostgres(paths: StatePaths): Promise<number | undefined> {
  if (!existsSync(paths.postgresData)) return undefined;
  const data = realpathSync(paths.postgresData);
  const found = findPostmaster(data);
  if (found === undefined && processesOn(data).length === 0) return undefined;
  if (found === undefined) {
    await stopPostmaster(undefined, data);
    return undefined;
  }
  await stopPostmaster(found.process, data);
  return found.process.pid;
}
