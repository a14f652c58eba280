// The database: PostgreSQL's programs, and the user that they run as if the daemon is root.
import { existsSync } from 'node:fs';
import { type ProcessEnvironment, statePaths } from '../../launcher/paths.ts';
import { hasCluster } from '../postgres/cluster.ts';
import { findPackagedPrograms } from '../postgres/programs.ts';
import { postgresService } from '../postgres/system-user.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { checkServiceUser } from './service-user.ts';

const group = 'Database';

export function databaseChecks(home: string, { env, uid }: ProcessEnvironment): readonly DoctorCheck[] {
  if (env.IMAGO_DATABASE_URL) {
    const detail = 'IMAGO_DATABASE_URL names another PostgreSQL; none is started here.';
    return [{ id: 'postgres.url', group, title: 'PostgreSQL', run: () => ({ state: 'ok', detail }) }];
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
    return {
      state: 'missing',
      detail: `There are no PostgreSQL programs for ${process.platform}-${process.arch}.`,
      fix: 'npm install --include=optional (or point IMAGO_DATABASE_URL at a PostgreSQL)',
    };
  }
  try {
    hasCluster(statePaths(home), found);
  } catch (error) {
    return {
      state: 'missing',
      detail: (error as Error).message,
      fix: 'Run `imago backup` with the version of Imago that made the database, and `imago restore` with this one.',
    };
  }
  return { state: 'ok', detail: `PostgreSQL ${found.version} comes with Imago.` };
}
