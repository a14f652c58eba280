// Finds, starts and stops the daemon of a state folder, for the command line. The usual case, a daemon that
// runs, costs one small file and one connection; everything else is loaded when it is needed.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import type { ResponseOf } from '../api/contract/types.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Settings } from '../domain/settings/settings.ts';
import { isSameProcess } from '../host/process/identity.ts';
import { type DaemonFile, readDaemonFile } from './daemon-file.ts';
import { type StatePaths, stateFolder, statePaths } from './paths.ts';
import type { StoppedProcesses } from './spawn.ts';

export interface EnsureOptions {
  /** The state folder; by default that of the environment. */
  readonly home?: string;
  /** Settings to start it with; a daemon that starts with them keeps them. */
  readonly flags?: Settings;
  /** Receives what the daemon is doing while it starts. */
  readonly onProgress?: (sentence: string) => void;
  readonly timeoutMs?: number;
}

export interface RunningDaemon {
  readonly pid: number;
  readonly version: string;
  readonly socket: string;
  /** Whether this call started it. */
  readonly started: boolean;
}

const START_PATIENCE_MS = 120_000;
const FIND_PATIENCE_MS = 30_000;
const DOCTOR_PATIENCE_MS = 30_000;
const ASK_PATIENCE_MS = 3000;
/** Longer than the daemon and then its machines may take. */
const DOWN_PATIENCE_MS = 210_000;
const POLL_MS = 25;
/** How long a daemon may fail before its clients see an error: a database is back sooner than that. */
const TROUBLE_PATIENCE_MS = 8000;

/**
 * The daemon that runs for this state folder; `undefined` when none does. One that is just starting is waited
 * for, but none is started.
 */
export async function findDaemon(home = stateFolder()): Promise<RunningDaemon | undefined> {
  const paths = statePaths(home);
  return (await probeDaemon(paths)) ?? settleDaemon(paths, performance.now() + FIND_PATIENCE_MS);
}

/** The daemon that answers at this moment. */
async function probeDaemon(paths: StatePaths): Promise<RunningDaemon | undefined> {
  const file = runningFile(paths);
  if (file?.ready !== true || !(await answers(file.socket))) return undefined;
  return { pid: file.process.pid, version: file.version, socket: file.socket, started: false };
}

/** Whether the state directory holds no database yet, and none elsewhere is named: there is nothing to read. */
export function isHomeEmpty(home = stateFolder()): boolean {
  return !process.env.IMAGO_DATABASE_URL && !existsSync(statePaths(home).postgresData);
}

/** Whether a daemon's process is there, be it ready or not. */
export function isDaemonThere(): boolean {
  return runningFile(statePaths(stateFolder())) !== undefined;
}

/** Returns the running daemon, or a new one. Concurrent callers start one daemon. */
export async function ensureDaemon(options: EnsureOptions = {}): Promise<RunningDaemon> {
  const home = options.home ?? stateFolder();
  const paths = statePaths(home);
  const found = await probeDaemon(paths);
  if (found !== undefined) return withFlags(found, paths, options.flags);

  const deadline = performance.now() + (options.timeoutMs ?? START_PATIENCE_MS);
  const lock = await takeStartLock(paths, deadline);
  try {
    const running = await settleDaemon(paths, deadline);
    if (running !== undefined) return withFlags(running, paths, options.flags);
    await startDaemon(paths, options, deadline).catch((error) => {
      // Another process, such as a service manager, started one at the same time: that one will do.
      if (!(error instanceof ImagoError) || error.code !== 'daemon-running') throw error;
    });
    const started = await settleDaemon(paths, deadline);
    if (started !== undefined) return { ...started, started: true };
    throw new ImagoError('daemon-start-failed', 'The daemon was ready and then ended.');
  } finally {
    lock?.release();
  }
}

/**
 * Stops the daemon, its PostgreSQL and its machines, even if it hangs or was killed, and leaves nothing running. `ask`
 * requests a stop first; a daemon that does not follow is signaled, then killed. A daemon that refuses because of the
 * caller's token is left alone. If nothing is running, nothing is done.
 */
export async function stopDaemon(
  options: {
    readonly home?: string;
    readonly ask?: (daemon: RunningDaemon) => Promise<void>;
    /** Machines keep running, and the next daemon finds them. */
    readonly leaveMachines?: boolean;
  } = {},
): Promise<StoppedProcesses> {
  const home = options.home ?? stateFolder();
  if (statSync(home, { throwIfNoEntry: false }) === undefined) return { forced: false };
  const daemon = await probeDaemon(statePaths(home));
  if (daemon !== undefined && options.ask !== undefined) {
    const asked = options.ask(daemon).catch((error: unknown) => {
      if (error instanceof ImagoError && error.kind === 'refused') throw error;
    });
    await Promise.race([asked, new Promise((late) => setTimeout(late, ASK_PATIENCE_MS).unref())]);
  }

  const { runEntry } = await import('./spawn.ts');
  const words = options.leaveMachines === true ? ['--down', '--leave-machines'] : ['--down'];
  const messages = runEntry(statePaths(home), words);
  for await (const message of messages.until(performance.now() + DOWN_PATIENCE_MS)) {
    if ('stopped' in message) {
      const { daemon: seen = daemon?.pid, ...rest } = message.stopped;
      return { ...(seen === undefined ? {} : { daemon: seen }), ...rest };
    }
  }
  throw new ImagoError('daemon-not-stopped', 'The daemon could not be stopped in time.');
}

/** What `imago doctor` finds when no daemon can be started: the same checks, in a process of their own. */
export async function localDoctor(home = stateFolder()): Promise<ResponseOf<'doctor'>> {
  const { runEntry } = await import('./spawn.ts');
  for await (const message of runEntry(statePaths(home), ['--doctor']).until(
    performance.now() + DOCTOR_PATIENCE_MS,
  )) {
    if ('doctor' in message) return message.doctor;
  }
  throw new ImagoError('daemon-not-answering', 'ProviderCall at this machine takes too long.');
}

/** Refuses a running daemon that uses other settings than the requested ones. */
function withFlags(daemon: RunningDaemon, paths: StatePaths, flags: Settings = {}): RunningDaemon {
  const current = readDaemonFile(paths.daemonFile)?.settings ?? {};
  for (const [name, value] of Object.entries(flags)) {
    if (current[name as keyof Settings] === value) continue;
    throw new ImagoError(
      'daemon-running',
      `The daemon (process ${daemon.pid}) runs already, without --${name} ${value}.`,
      {
        hint: 'Stop it with `imago down`, then start it again with the flags that you want.',
      },
    );
  }
  return daemon;
}

function runningFile(paths: StatePaths): DaemonFile | undefined {
  const file = readDaemonFile(paths.daemonFile);
  return file !== undefined && isSameProcess(file.process) ? file : undefined;
}

/** Waits while a daemon's process is there but not ready; `undefined` when there is none. */
async function settleDaemon(paths: StatePaths, deadline: number): Promise<RunningDaemon | undefined> {
  const patience = performance.now() + TROUBLE_PATIENCE_MS;
  for (;;) {
    const found = await probeDaemon(paths);
    if (found !== undefined) return found;
    const file = runningFile(paths);
    if (file === undefined) return undefined;
    if (performance.now() > patience) {
      const { fetchStartupError } = await import('../api/client/read-problem.ts');
      const trouble = await fetchStartupError(file.socket);
      if (trouble !== undefined) throw trouble;
    }
    if (performance.now() > deadline) {
      throw new ImagoError(
        'daemon-not-answering',
        `The daemon (process ${file.process.pid}) does not answer.`,
      );
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

/** `undefined` when the folder does not allow a lock: the daemon itself then says what is wrong with it. */
async function takeStartLock(paths: StatePaths, deadline: number) {
  try {
    mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  } catch {
    return undefined;
  }
  const { waitForFileLock } = await import('../host/files/file-lock.ts');
  const lock = await waitForFileLock(paths.startLock, deadline - performance.now()).catch(
    () => 'none' as const,
  );
  if (lock === 'none') return undefined;
  if (lock !== undefined) return lock;
  throw new ImagoError('daemon-not-answering', 'Another command has been starting the daemon for too long.');
}

async function startDaemon(paths: StatePaths, options: EnsureOptions, deadline: number): Promise<void> {
  const { flagWords, runEntry } = await import('./spawn.ts');
  const messages = runEntry(paths, flagWords(options.flags ?? {}));
  for await (const message of messages.until(deadline)) {
    if ('progress' in message) options.onProgress?.(message.progress);
    if ('ready' in message) return;
  }
  throw new ImagoError('daemon-not-answering', 'The daemon takes too long to start.');
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}
