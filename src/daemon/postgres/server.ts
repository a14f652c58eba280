// Runs the embedded PostgreSQL: creates it if there is none, starts it if it is not running, and adopts it if it is. It
// outlives a killed daemon, and the next one adopts it.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  identifyProcess,
  isSameProcess,
  type ProcessIdentity,
  signalProcess,
  waitForExit,
} from '../../host/process/identity.ts';
import type { SystemUser } from '../../host/process/system-user.ts';
import { cacheFolders, sharedCache } from '../../host/tools/tools.ts';
import type { ProcessEnvironment, StatePaths } from '../../launcher/paths.ts';
import { type Log, rotateByCopy } from '../process/log.ts';
import { POSTGRES_PORT, type RuntimePaths, secureFolder } from '../process/paths.ts';
import {
  createCluster,
  DATA_ARGUMENT,
  databasePassword,
  hasCluster,
  postgresSpawn,
  SUPERUSER,
} from './cluster.ts';
import { explainPostgresOutput, isTransient } from './failure.ts';
import { clearStaleLocks, findPostmaster, type Postmaster, processesOn, socketOf } from './postmaster.ts';
import { type PostgresPrograms, reachablePrograms, requirePackagedPrograms } from './programs.ts';
import { choosePostgresUser } from './system-user.ts';

const databaseName = 'imago';
const retryPauseMs = 150;
const retryForMs = 20_000;
const recoveryForMs = 120_000;
const watchEveryMs = 1000;
const orphansForMs = 5000;
const stopSignals = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5000],
  ['SIGKILL', 5000],
] as const;

/** Settings for a small and durable server that is only reachable over a Unix socket. */
const serverSettings: Readonly<Record<string, string>> = {
  cluster_name: 'imago',
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '32MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  min_wal_size: '32MB',
  max_wal_size: '256MB',
  io_method: 'sync',
  max_worker_processes: '2',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  huge_pages: 'off',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  TimeZone: 'UTC',
};

export interface PostgresOptions {
  readonly paths: StatePaths;
  readonly runtime: RuntimePaths;
  readonly processEnv: ProcessEnvironment;
  readonly log: Log;
}

export interface PostgresServer {
  /** Contains the password: never log or show it. */
  readonly url: string;
  readonly process: ProcessIdentity;
  readonly socketFolder: string;
  readonly how: 'created' | 'started' | 'adopted';
  /** Calls back once, when the server exits or cannot be reached. Returns a function that stops watching. */
  watch(onLost: (reason: string) => void): () => void;
  /** Stops it without losing a commit. Calling it again, or after a crash, has no effect. */
  stop(): Promise<void>;
}

export async function ensurePostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { paths, log } = options;
  const packaged = requirePackagedPrograms();
  const exists = hasCluster(paths, packaged);
  const running = exists ? await findUsable(paths, log) : undefined;
  if (running !== undefined) {
    log.info('adopted the running PostgreSQL', { postgres: running.process.pid });
    return serve(options, running, 'adopted');
  }
  const user = choosePostgresUser(options.processEnv, paths.postgresData);
  const programs = reachablePrograms(packaged, caches(options.processEnv), user);
  if (!exists) await createCluster(paths, programs, user);
  const started = await start(options, programs, user);
  log.info('started PostgreSQL', {
    postgres: started.process.pid,
    user: user?.name,
    version: programs.version,
  });
  try {
    return await serve(options, started, exists ? 'started' : 'created');
  } catch (error) {
    await stopPostmaster(started.process, realpathSync(paths.postgresData));
    throw error;
  }
}

/**
 * Stops the server of a data directory: fast, then immediate, then by SIGKILL; none of them loses a commit. Children that
 * outlive a killed postmaster usually exit on their own.
 */
export async function stopPostmaster(postmaster: ProcessIdentity | undefined, data: string): Promise<void> {
  for (const [signal, patience] of stopSignals) {
    if (postmaster === undefined || !signalProcess(postmaster, signal)) break;
    if (await waitForExit(postmaster, patience)) break;
  }
  if (await noneLeft(data, orphansForMs)) return;
  for (const pid of processesOn(data)) {
    const child = identifyProcess(pid);
    if (child !== undefined) signalProcess(child, 'SIGKILL');
  }
  if (await noneLeft(data, orphansForMs)) return;
  throw new ImagoError(
    'daemon-not-stopped',
    `PostgreSQL is still running: process ${processesOn(data).join(', ')}.`,
  );
}

async function noneLeft(data: string, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (processesOn(data).length > 0) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** The caches of this user, and the shared one: IMAGO_CACHE can be in a directory that only root can enter. */
function caches({ env, uid }: ProcessEnvironment): readonly string[] {
  return [...new Set([...cacheFolders(env, uid), ...(uid === 0 ? [sharedCache] : [])])];
}

/** Returns a running server that accepts connections. Waits for one that is stopping, and stops one without a socket. */
async function findUsable(paths: StatePaths, log: Log): Promise<Postmaster | undefined> {
  const data = realpathSync(paths.postgresData);
  const deadline = performance.now() + recoveryForMs;
  for (;;) {
    const found = findPostmaster(data);
    if (found === undefined) return undefined;
    if (found.state === 'ready' && existsSync(socketOf(found))) return found;
    if (found.state === 'ready') {
      log.warn('PostgreSQL has lost its socket and is restarted', { socket: socketOf(found) });
      await stopPostmaster(found.process, data);
    }
    if (performance.now() > deadline) throw stillRecovering(found);
    await sleep(50);
  }
}

async function start(
  options: PostgresOptions,
  programs: PostgresPrograms,
  user: SystemUser | undefined,
): Promise<Postmaster> {
  const { paths, runtime, log } = options;
  const data = realpathSync(paths.postgresData);
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const deadline = performance.now() + retryForMs;
  for (;;) {
    secureFolder(runtime.postgresFolder, user ?? self);
    clearStaleLocks(data, runtime.postgresFolder);
    const outcome = await launch(options, programs, user, data);
    if ('postmaster' in outcome) return outcome.postmaster;
    if (!isTransient(outcome.output) || performance.now() > deadline) {
      throw explainPostgresOutput(outcome.output, 'PostgreSQL did not start');
    }
    log.info('PostgreSQL is not available yet; trying again');
    await sleep(retryPauseMs);
  }
}

async function launch(
  { paths, runtime }: PostgresOptions,
  programs: PostgresPrograms,
  user: SystemUser | undefined,
  data: string,
): Promise<{ readonly postmaster: Postmaster } | { readonly output: string }> {
  rotateByCopy(paths.postgresLog);
  const logFile = openSync(paths.postgresLog, 'a', 0o600);
  const logStart = statSync(paths.postgresLog).size;
  const settings = {
    ...serverSettings,
    port: String(POSTGRES_PORT),
    unix_socket_directories: runtime.postgresFolder,
  };
  const child = spawn(
    programs.postgres,
    ['-D', DATA_ARGUMENT, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...postgresSpawn(data, user),
      detached: true,
      stdio: ['ignore', logFile, logFile],
    },
  );
  closeSync(logFile);
  child.unref();
  let ended = false;
  let failure: Error | undefined;
  child.once('exit', () => {
    ended = true;
  });
  child.once('error', (error) => {
    failure = error;
  });
  const deadline = performance.now() + recoveryForMs;
  for (;;) {
    if (failure !== undefined) throw explainPostgresOutput(failure.message, 'PostgreSQL did not start');
    const found = findPostmaster(data);
    if (found?.process.pid === child.pid && found?.state === 'ready') return { postmaster: found };
    if (ended) return { output: readFileSync(paths.postgresLog).subarray(logStart).toString('utf8') };
    if (found !== undefined && performance.now() > deadline) throw stillRecovering(found);
    await sleep(10);
  }
}

async function serve(
  { paths }: PostgresOptions,
  postmaster: Postmaster,
  how: PostgresServer['how'],
): Promise<PostgresServer> {
  const data = realpathSync(paths.postgresData);
  const password = databasePassword(paths);
  await ensureDatabase(postmaster, password);
  return {
    url: connectionUrl(postmaster, password, databaseName),
    process: postmaster.process,
    socketFolder: postmaster.socketFolder,
    how,
    watch(onLost) {
      const timer = setInterval(() => {
        const running = isSameProcess(postmaster.process);
        if (running && existsSync(socketOf(postmaster))) return;
        clearInterval(timer);
        onLost(running ? 'the socket of PostgreSQL was removed' : 'PostgreSQL exited');
      }, watchEveryMs);
      timer.unref();
      return () => clearInterval(timer);
    },
    stop: () => stopPostmaster(postmaster.process, data),
  };
}

/** Connects, which also verifies the password, and creates the database if it does not exist. */
async function ensureDatabase(postmaster: Postmaster, password: string): Promise<void> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString: connectionUrl(postmaster, password, 'postgres') });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`);
  } catch (error) {
    throw new ImagoError(
      'postgres-failed',
      `PostgreSQL rejected the connection: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

function connectionUrl(postmaster: Postmaster, password: string, database: string): string {
  const host = encodeURIComponent(postmaster.socketFolder);
  return `postgresql://${SUPERUSER}:${encodeURIComponent(password)}@localhost:${postmaster.port}/${database}?host=${host}`;
}

function stillRecovering(postmaster: Postmaster): ImagoError {
  return new ImagoError(
    'postgres-failed',
    `PostgreSQL (process ${postmaster.process.pid}) is still ${postmaster.state} after ${recoveryForMs / 1000} s.`,
    { hint: 'It can be recovering a large database. Try again later.', retryable: true },
  );
}
