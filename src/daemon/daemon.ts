// Runs the daemon: directories and lock, listener, database, lease, work. Decides what to do if a part is missing or
// fails; wiring.ts connects the parts.
import { existsSync, statSync } from 'node:fs';
import { isLoopbackHost } from '../domain/access/loopback.ts';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { type FileLock, tryFileLock, waitForFileLock } from '../host/files/file-lock.ts';
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../host/process/identity.ts';
import { readDaemonFile, removeDaemonFile, writeDaemonFile } from '../launcher/daemon-file.ts';
import { packageVersion } from '../launcher/package.ts';
import { type ProcessEnvironment, type StatePaths, stateFolder } from '../launcher/paths.ts';
import type { DaemonEnvironment } from './environment.ts';
import { type Listener, openListener, type TcpOptions } from './http/listener.ts';
import type { DaemonOptions } from './options.ts';
import type { PostgresServer } from './postgres/server.ts';
import { createLifecycle, type Lifecycle, readRestarts } from './process/lifecycle.ts';
import { openLog, rotateByCopy } from './process/log.ts';
import type { Messages } from './process/messages.ts';
import { prepareStateFolder, removeRuntimeFolders, runtimePaths, secureFolder } from './process/paths.ts';

export interface DaemonRun {
  readonly processEnv: ProcessEnvironment;
  readonly options: DaemonOptions;
  readonly messages: Messages;
  /** Reports to a service manager, if one started this process. */
  readonly reportReady: () => void;
  /** Stores the settings that were given as flags, for the next start. */
  readonly keep: () => Promise<unknown>;
}

const lockTimeoutMs = 3000;
const requestGraceMs = 2000;
const checkEveryMs = 2000;
const rotateEveryMs = 600_000;

/** Returns when the daemon is ready. The process then runs until the lifecycle stops it. */
export async function runDaemon({
  processEnv,
  options,
  messages,
  reportReady,
  keep,
}: DaemonRun): Promise<void> {
  const again = readRestarts(process.env) !== undefined;
  const paths = prepareStateFolder(stateFolder(processEnv), processEnv, !again);
  const log = openLog(paths.daemonLog, inForeground() ? { tee: (line) => process.stderr.write(line) } : {});
  const lock = await takeLock(paths, again);
  if (lock === undefined) return;
  rotateByCopy(paths.daemonErrors);

  let listener: Listener | undefined;
  const lifecycle = createLifecycle({
    log,
    env: process.env,
    onWaiting: (reason) => listener?.refuse(reason),
  });
  let failure: unknown;
  lifecycle.onStop({ name: 'messages', deadlineMs: 1000, run: () => reportEnd(messages, failure) });
  lifecycle.onStop({ name: 'the lock', deadlineMs: 1000, run: () => lock.release() });

  let up = again;
  function fail(error: unknown): void {
    if (lifecycle.ending.aborted) return;
    log.error(up ? 'the daemon failed' : 'the daemon could not start', { error });
    if (up) {
      lifecycle.restart('it failed', error);
      return;
    }
    failure = error;
    lifecycle.stop({ database: true, exitCode: ensureImagoError(error).exitCode });
  }

  followSignals(lifecycle, fail);
  try {
    const runtime = runtimePaths(paths.home, processEnv);
    secureFolder(runtime.apiFolder, { uid: processEnv.uid, gid: process.getgid?.() ?? 0 });
    listener = await openListener(runtime.apiSocket, await withCertificate(options.tcp, paths.home));
    await keep();
    const startedAt = new Date();
    const environment = { processEnv, options, paths, runtime, log, lifecycle, listener, startedAt };
    const starting = start(environment, messages, again);
    lifecycle.hold(starting);
    await starting;
    up = true;
    reportReady();
  } catch (error) {
    fail(error);
  }
}

/** Loopback needs no TLS. For other addresses, creates a certificate if none was given. */
async function withCertificate(tcp: TcpOptions | undefined, home: string): Promise<TcpOptions | undefined> {
  if (tcp === undefined || tcp.tls !== undefined || isLoopbackHost(tcp.host)) return tcp;
  const { ensureOwnCertificate } = await import('./http/own-certificate.ts');
  return { ...tcp, tls: await ensureOwnCertificate(home, tcp.host) };
}

/** Reports the failure to the process that started this one. It is the last step, when everything has stopped. */
function reportEnd(messages: Messages, failure: unknown): void {
  if (failure !== undefined) messages.send({ error: ensureImagoError(failure).toRecord() });
  messages.end();
}

async function start(environment: DaemonEnvironment, messages: Messages, again: boolean): Promise<void> {
  const { paths, runtime, log, lifecycle, listener, startedAt } = environment;
  const self = ownIdentity();
  let postgres: PostgresServer | undefined;
  let ready = false;

  function record(): void {
    writeDaemonFile(paths.daemonFile, {
      process: self,
      version: packageVersion(),
      socket: runtime.apiSocket,
      ready,
      ...(postgres === undefined ? {} : { postgres: postgres.process }),
      startedAt: startedAt.toISOString(),
      settings: environment.options.settings,
    });
  }

  /** If the disk is full, clients see the previous record, and nothing else fails. */
  function recordAgain(): void {
    try {
      record();
    } catch (error) {
      log.warn('the daemon file cannot be written', { error });
    }
  }

  if (again) recordAgain();
  else record();
  lifecycle.onStop({
    name: 'the sockets',
    deadlineMs: 1000,
    run({ database }) {
      if (database) removeRuntimeFolders(runtime);
      removeDaemonFile(paths.daemonFile, self);
    },
  });
  log.info('starting', { version: packageVersion(), node: process.versions.node, home: paths.home });

  const url = environment.processEnv.env.IMAGO_DATABASE_URL;
  if (!url) {
    messages.send({ progress: 'Starting the database' });
    postgres = await startPostgres(environment);
    lifecycle.ending.throwIfAborted();
    recordAgain();
  }
  const { wire } = await import('./wiring.ts');
  messages.send({ progress: 'Starting the daemon' });
  await wire({
    environment,
    ...(postgres === undefined ? {} : { postgres }),
    url: url || (postgres?.url ?? ''),
  });

  ready = true;
  recordAgain();
  lifecycle.ending.addEventListener('abort', () => {
    ready = false;
    if (existsSync(paths.daemonFile)) recordAgain();
  });
  lifecycle.onStop({
    name: 'requests',
    deadlineMs: requestGraceMs + 1000,
    run: () => listener.close(requestGraceMs),
  });
  watchFiles(environment, recordAgain, self);
  messages.send({ ready: true });
  messages.end();
  log.info('ready', { ms: Math.round(performance.now()) });
}

async function startPostgres(environment: DaemonEnvironment): Promise<PostgresServer> {
  const { lifecycle } = environment;
  const { ensurePostgres } = await import('./postgres/server.ts');
  const postgres = await ensurePostgres(environment);
  const unwatch = postgres.watch((reason) => lifecycle.restart(reason));
  lifecycle.onStop({
    name: 'PostgreSQL',
    deadlineMs: 25_000,
    async run({ database }) {
      unwatch();
      if (database) await postgres.stop();
    },
  });
  return postgres;
}

/** Returns whether a user or a service manager started the daemon: a client sets IMAGO_BACKGROUND. */
function inForeground(): boolean {
  return process.env.IMAGO_BACKGROUND === undefined;
}

/** Returns `undefined` if another daemon took over while this one restarted. */
async function takeLock(paths: StatePaths, again: boolean): Promise<FileLock | undefined> {
  const lock = tryFileLock(paths.lock);
  if (lock !== undefined) return lock;
  const other = readDaemonFile(paths.daemonFile)?.process;
  const runs = other !== undefined && isSameProcess(other) && other.pid !== process.pid;
  const waited = runs ? undefined : await waitForFileLock(paths.lock, lockTimeoutMs);
  if (waited !== undefined || again) return waited;
  throw new ImagoError(
    'daemon-running',
    `A daemon${other === undefined ? '' : ` (process ${other.pid})`} is already running for ${paths.home}.`,
  );
}

function followSignals(lifecycle: Lifecycle, fail: (error: unknown) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => lifecycle.stop({ database: true }));
  }
  process.on('SIGHUP', () => undefined);
  process.on('uncaughtException', fail);
}

/** Reacts to changes that other processes make to the daemon's files. */
function watchFiles(environment: DaemonEnvironment, record: () => void, self: ProcessIdentity): void {
  const { paths, listener, lifecycle } = environment;
  const created = statSync(paths.home).ino;
  const check = setInterval(() => {
    if (statSync(paths.home, { throwIfNoEntry: false })?.ino !== created) {
      lifecycle.stop({ database: true });
    } else if (!listener.intact()) {
      lifecycle.restart('the socket of the API was removed');
    } else if (readDaemonFile(paths.daemonFile)?.process.startTicks !== self.startTicks) {
      record();
    }
  }, checkEveryMs);
  const rotate = setInterval(() => {
    for (const file of [paths.postgresLog, paths.daemonErrors]) rotateByCopy(file);
  }, rotateEveryMs);
  lifecycle.ending.addEventListener('abort', () => {
    clearInterval(check);
    clearInterval(rotate);
  });
}

function ownIdentity(): ProcessIdentity {
  const self = identifyProcess(process.pid);
  if (self !== undefined) return self;
  throw new ImagoError('internal', 'This process is not in /proc.', {
    hint: 'Imago needs Linux with /proc mounted.',
  });
}
