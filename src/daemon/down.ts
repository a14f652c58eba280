// Stops everything that belongs to a state folder: a daemon that follows, one that hangs, and a PostgreSQL
// whose daemon was killed. Processes are identified before they are signalled, so that nobody else is hit.
import { accessSync, constants, existsSync, realpathSync, rmSync } from 'node:fs';
import { ImagoError } from '../domain/error/imago-error.ts';
import { type FileLock, tryFileLock, waitForFileLock } from '../host/files/file-lock.ts';
import { isSameProcess, type ProcessIdentity, signalProcess, waitForExit } from '../host/process/identity.ts';
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

/** Longer than a clean stop may take. */
const POLITE_MS = 30_000;
const NOTICE_MS = 5000;
const FORCED_MS = 5000;
const LOCK_MS = 5000;
/** For a clean power-off of all at once, also of those that are still starting; then they are ended. */
const MACHINE_MS = 120_000;

export interface DownOptions {
  /** Machines go on running, and the next daemon finds them. */
  readonly leaveMachines?: boolean;
  readonly politeMs?: number;
}

/** A second call, or one when nothing runs, changes nothing. */
export async function bringDown(
  processEnv: ProcessEnvironment,
  { leaveMachines = false, politeMs = POLITE_MS }: DownOptions = {},
): Promise<StoppedProcesses> {
  const home = stateFolder(processEnv);
  if (!existsSync(home)) return { forced: false };
  const paths = statePaths(realpathSync(home));
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFolderError(error, home);
  }
  const daemon = await stopDaemonProcess(paths, politeMs);
  const lock = await takeLock(paths);
  try {
    const postgres = await stopPostgres(paths);
    const runtime = runtimePaths(paths.home, processEnv);
    const machines = leaveMachines ? 0 : await stopMachines(paths, runtime, processEnv);
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

/** Loaded only where there are any: most state folders of tests and of clouds have none. */
async function stopMachines(
  { home }: StatePaths,
  { machineFolder }: RuntimePaths,
  processEnv: ProcessEnvironment,
): Promise<number> {
  if (!existsSync(localFolder(home))) return 0;
  return stopLocalMachines({
    ...{ home, socketFolder: machineFolder, processEnv, deadlineMs: MACHINE_MS },
    onTrouble: () => undefined,
  });
}

async function stopDaemonProcess(
  paths: StatePaths,
  politeMs: number,
): Promise<{ readonly pid: number; readonly forced: boolean } | undefined> {
  const file = readDaemonFile(paths.daemonFile);
  if (file === undefined || !isSameProcess(file.process)) return undefined;
  const { process: daemon } = file;
  signalProcess(daemon, 'SIGTERM');
  if (await follows(paths, daemon, politeMs)) return { pid: daemon.pid, forced: false };
  signalProcess(daemon, 'SIGKILL');
  if (await waitForExit(daemon, FORCED_MS)) return { pid: daemon.pid, forced: true };
  throw new ImagoError('daemon-not-stopped', `The daemon (process ${daemon.pid}) cannot be stopped.`, {
    hint: 'It may belong to another user, or hang in the kernel: see `ps -o user,stat,wchan`.',
  });
}

/** Whether it ends in time. One that hangs is known early: the first thing that a stop does is to say so. */
async function follows(paths: StatePaths, daemon: ProcessIdentity, politeMs: number): Promise<boolean> {
  if (await waitForExit(daemon, Math.min(NOTICE_MS, politeMs))) return true;
  if (readDaemonFile(paths.daemonFile)?.ready === true) return false;
  return waitForExit(daemon, politeMs - NOTICE_MS);
}

async function takeLock(paths: StatePaths): Promise<FileLock | undefined> {
  if (!existsSync(paths.lock)) return undefined;
  const lock = tryFileLock(paths.lock) ?? (await waitForFileLock(paths.lock, LOCK_MS));
  if (lock !== undefined) return lock;
  throw new ImagoError(
    'daemon-not-stopped',
    `A daemon that ${paths.daemonFile} does not name holds ${paths.lock}.`,
    {
      hint: `See which process has it open: \`fuser -v ${paths.lock}\`.`,
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
