// Checks the database: the PostgreSQL binaries, and the user that they run as if the daemon runs as root.
import { existsSync } from 'node:fs';
import { type ProcessEnvironment, statePaths } from '../../launcher/paths.ts';
import { hasCluster } from '../postgres/cluster.ts';
import { findPackagedPrograms } from '../postgres/programs.ts';
import { postgresService } from '../postgres/system-user.ts';
import { type CheckResult, type DoctorCheck, missing, ok } from './check.ts';
import { checkServiceUser } from './probe.ts';

const group = 'Database';

export function databaseChecks(home: string, { env, uid }: ProcessEnvironment): readonly DoctorCheck[] {
  if (env.IMAGO_DATABASE_URL) {
    const run = () => ok('IMAGO_DATABASE_URL is set: Imago does not start a PostgreSQL.');
    return [{ id: 'postgres.url', group, title: 'PostgreSQL', run }];
  }
  const programs: DoctorCheck = {
    id: 'postgres.programs',
    group,
    title: 'PostgreSQL',
    run: () => checkPrograms(home),
  };
  const user: DoctorCheck = {
    id: 'postgres.user',
    group,
    title: 'Its user',
    run: () => checkServiceUser(postgresService, 'PostgreSQL', env),
  };
  return uid === 0 ? [programs, user] : [programs];
}

function checkPrograms(home: string): CheckResult {
  const found = findPackagedPrograms();
  if (found === undefined || !existsSync(found.postgres)) {
    return missing(
      `The PostgreSQL binaries for ${process.platform}-${process.arch} are not installed.`,
      'npm install --include=optional (or set IMAGO_DATABASE_URL)',
    );
  }
  try {
    hasCluster(statePaths(home), found);
  } catch (error) {
    return missing(
      (error as Error).message,
      'Run `imago backup` with the version of Imago that created the database, and `imago restore` with this one.',
    );
  }
  return ok(`PostgreSQL ${found.version} is included.`);
}
