// Creates the data directory of the embedded database atomically, and refuses one of another PostgreSQL version.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { SystemUser } from '../../host/process/system-user.ts';
import type { StatePaths } from '../../launcher/paths.ts';
import { explainPostgresOutput } from './failure.ts';
import type { PostgresPrograms } from './programs.ts';

export const SUPERUSER = 'imago';
const VERSION_FILE = 'PG_VERSION';
/** A new database needs about 40 MB, and as much for its first write-ahead log. */
const SPACE_FOR_NEW_DATABASE = 100 * 1024 * 1024;

/**
 * Returns how to run PostgreSQL on a data directory. It starts in that directory and uses no other path, so its user does
 * not need access to the parent directories: the state directory stays closed, and can be in root's home. It gets none of
 * the caller's PG… settings, and prints messages in English.
 */
export function postgresSpawn(data: string, user: SystemUser | undefined) {
  return {
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    cwd: data,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  };
}
export const DATA_ARGUMENT = '/proc/self/cwd';

/** Returns the password of the database. The first call creates it and stores it (0600). */
export function databasePassword(paths: StatePaths): string {
  if (existsSync(paths.postgresPassword)) return readFileSync(paths.postgresPassword, 'utf8').trim();
  if (existsSync(join(paths.postgresData, VERSION_FILE))) {
    throw new ImagoError(
      'postgres-failed',
      `The password of the database is missing: ${paths.postgresPassword}.`,
      {
        hint: 'Restore the file from a copy of the state directory, or restore a backup into a new one.',
      },
    );
  }
  const password = randomBytes(24).toString('base64url');
  const fresh = `${paths.postgresPassword}.new`;
  writeFileSync(fresh, `${password}\n`, { mode: 0o600, flush: true });
  renameSync(fresh, paths.postgresPassword);
  return password;
}

/** Returns whether the data directory exists. Throws `postgres-version` if it is of another version. */
export function hasCluster(paths: StatePaths, programs: Pick<PostgresPrograms, 'major'>): boolean {
  const versionFile = join(paths.postgresData, VERSION_FILE);
  if (!existsSync(versionFile)) {
    refuseOthersFiles(paths.postgresData);
    return false;
  }
  const found = Number.parseInt(readFileSync(versionFile, 'utf8'), 10);
  if (found === programs.major) return true;
  throw new ImagoError(
    'postgres-version',
    `The database in ${paths.postgresData} was created by PostgreSQL ${found}, and this Imago includes ${programs.major}.`,
  );
}

/** A database is only created in an empty directory. */
function refuseOthersFiles(data: string): void {
  if (!existsSync(data) || readdirSync(data).length === 0) return;
  throw new ImagoError('postgres-failed', `${data} contains files, but no database.`, {
    hint: 'Move the directory away, or set IMAGO_HOME to another one.',
  });
}

/** Creates the data directory. First deletes what an interrupted attempt left behind. */
export async function createCluster(
  paths: StatePaths,
  programs: PostgresPrograms,
  user: SystemUser | undefined,
): Promise<void> {
  const password = databasePassword(paths);
  const { bavail, bsize } = statfsSync(paths.postgres);
  if (bavail * bsize < SPACE_FOR_NEW_DATABASE) {
    throw new ImagoError(
      'no-space',
      `A new database needs ${SPACE_FOR_NEW_DATABASE / 2 ** 20} MB, and ${paths.postgres} has ${Math.floor((bavail * bsize) / 2 ** 20)} MB free.`,
      { hint: 'Free up space, or set IMAGO_HOME to another directory.' },
    );
  }
  const workshop = join(paths.postgres, 'new');
  const data = join(workshop, 'data');
  const passwordFile = join(workshop, 'password');
  rmSync(workshop, { recursive: true, force: true });
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
    if (user !== undefined) {
      for (const path of [workshop, data, passwordFile]) chownSync(path, user.uid, user.gid);
    }
    await runInitdb(programs, user, data);
    renameSync(data, paths.postgresData);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

async function runInitdb(
  programs: PostgresPrograms,
  user: SystemUser | undefined,
  data: string,
): Promise<void> {
  const args = [
    `--pgdata=${DATA_ARGUMENT}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${DATA_ARGUMENT}/../password`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ];
  const child = spawn(programs.initdb, args, {
    ...postgresSpawn(data, user),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw explainPostgresOutput(output, 'The database could not be created');
}
