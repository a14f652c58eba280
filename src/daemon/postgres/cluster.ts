// Makes the embedded database's folder, once and whole or not at all, and refuses one that these programs
// cannot read.
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
/** A new database takes about 40 MB, and as much again for the log of its first changes. */
const SPACE_FOR_NEW_DATABASE = 100 * 1024 * 1024;

/**
 * How PostgreSQL's programs are run on a data folder. They start within it and know it by that alone, so
 * their user need not be able to pass through the folders above: the state folder stays closed, and may
 * stand in root's home. They see none of the caller's PG… settings, and speak a language that we can read.
 */
export function postgresSpawn(data: string, user: SystemUser | undefined) {
  return {
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    cwd: data,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  };
}
export const DATA_ARGUMENT = '/proc/self/cwd';

/** The database's password, made at the first call and kept (0600) for the next ones. */
export function databasePassword(paths: StatePaths): string {
  if (existsSync(paths.postgresPassword)) return readFileSync(paths.postgresPassword, 'utf8').trim();
  if (existsSync(join(paths.postgresData, VERSION_FILE))) {
    throw new ImagoError(
      'postgres-failed',
      `The database's password is missing: ${paths.postgresPassword}.`,
      {
        hint: 'Put the file back from a copy of the state folder, or restore a backup into a new one.',
      },
    );
  }
  const password = randomBytes(24).toString('base64url');
  const fresh = `${paths.postgresPassword}.new`;
  writeFileSync(fresh, `${password}\n`, { mode: 0o600, flush: true });
  renameSync(fresh, paths.postgresPassword);
  return password;
}

/** Whether the data folder is there, and usable by these programs: `postgres-version` when it is not. */
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
    `The database in ${paths.postgresData} was made by PostgreSQL ${found}, and this Imago brings ${programs.major}.`,
  );
}

/** A database is only ever made where nothing is. */
function refuseOthersFiles(data: string): void {
  if (!existsSync(data) || readdirSync(data).length === 0) return;
  throw new ImagoError('postgres-failed', `${data} holds files, but no database.`, {
    hint: 'Move the folder away, or point IMAGO_HOME at another one.',
  });
}

/** Makes the data folder. What an interrupted earlier try left is taken away first. */
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
      { hint: 'Free some space, or point IMAGO_HOME at another folder.' },
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
  if (code !== 0) throw explainPostgresOutput(output, 'The database could not be made');
}
