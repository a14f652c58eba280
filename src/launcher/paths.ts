// Where the daemon of a state folder keeps its things: known to the daemon, which makes them, and to its
// clients, which find and stop it.
//
// The state folder (0700):
//   lock                  held by the running daemon; the kernel releases it when the process exits
//   start.lock            held by a client while it starts the daemon
//   daemon.json           the running daemon: process, version, sockets
//   settings.json         what the daemon is started with; settings.lock is held while it changes
//   log/daemon.log        JSON lines, rotated by size (daemon.log.1, …)
//   log/daemon.err        what Node.js itself printed, e.g. on a crash
//   log/postgres.log      PostgreSQL's own log
//   postgres/password     of the database (0600)
//   postgres/data         the database, owned by the user that PostgreSQL runs as (0700)
//
// The sockets stand elsewhere, because a socket's path may have at most 107 bytes: in two folders (0700)
// named after a hash of the state folder's real path, one for the API and one for PostgreSQL, which may run
// as another user. daemon.json says where: the place depends on the environment of the one who started it.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

export interface StatePaths {
  readonly home: string;
  readonly lock: string;
  readonly startLock: string;
  readonly daemonFile: string;
  readonly settings: string;
  readonly settingsLock: string;
  readonly logs: string;
  readonly daemonLog: string;
  readonly daemonErrors: string;
  readonly postgresLog: string;
  readonly postgres: string;
  readonly postgresPassword: string;
  readonly postgresData: string;
}

export interface ProcessEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
}

export function currentProcessEnvironment(): ProcessEnvironment {
  return { env: process.env, uid: process.getuid?.() ?? 1 };
}

/** `IMAGO_HOME`; else `/var/lib/imago` for root and the XDG state folder for everyone else. */
export function stateFolder({ env, uid }: ProcessEnvironment = currentProcessEnvironment()): string {
  if (env.IMAGO_HOME) return resolve(env.IMAGO_HOME);
  if (uid === 0) return '/var/lib/imago';
  const base =
    env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)
      ? env.XDG_STATE_HOME
      : join(env.HOME || homedir(), '.local', 'state');
  return join(base, 'imago');
}

export function statePaths(home: string): StatePaths {
  const logs = join(home, 'log');
  const postgres = join(home, 'postgres');
  return {
    home,
    lock: join(home, 'lock'),
    startLock: join(home, 'start.lock'),
    daemonFile: join(home, 'daemon.json'),
    settings: join(home, 'settings.json'),
    settingsLock: join(home, 'settings.lock'),
    logs,
    daemonLog: join(logs, 'daemon.log'),
    daemonErrors: join(logs, 'daemon.err'),
    postgresLog: join(logs, 'postgres.log'),
    postgres,
    postgresPassword: join(postgres, 'password'),
    postgresData: join(postgres, 'data'),
  };
}
