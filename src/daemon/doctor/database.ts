// The database: PostgreSQL's programs, and the user that they run as for root.
import { existsSync } from 'node:fs';
import { type Surroundings, statePaths } from '../../launcher/paths.ts';
import { hasCluster } from '../postgres/cluster.ts';
import { findPackagedPrograms } from '../postgres/programs.ts';
import { systemUsers } from '../postgres/system-user.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram } from './probe.ts';

const group = 'Database';

export function databaseChecks(home: string, { env, uid }: Surroundings): readonly DoctorCheck[] {
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
  const user: DoctorCheck = { id: 'postgres.user', group, title: 'Its user', run: () => checkUser(env) };
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

function checkUser(env: Surroundings['env']): CheckResult {
  const name = env.IMAGO_POSTGRES_USER || 'imago';
  if (systemUsers.find(name) !== undefined) return { state: 'ok', detail: `The system user ${name} exists.` };
  if (name === 'imago' && (findProgram('useradd') ?? findProgram('adduser')) !== undefined) {
    return { state: 'ok', detail: 'The system user imago is made at the first start.' };
  }
  return {
    state: 'warn',
    detail: `There is no user ${name}: PostgreSQL would run as nobody, which other services may share.`,
    fix: `useradd --system --no-create-home ${name}`,
  };
}
