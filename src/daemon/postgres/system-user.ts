// The user that PostgreSQL runs as if the daemon runs as root, because PostgreSQL refuses to run as root. The owner of an
// existing database folder stays its user permanently.
import {
  chooseServiceUser,
  type Service,
  type SystemUser,
  systemUsers,
  type UserDirectory,
} from '../../host/process/system-user.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';

export const postgresService: Service = {
  user: 'imago',
  variable: 'IMAGO_POSTGRES_USER',
  code: 'postgres-user',
};

/** Returns `undefined` if PostgreSQL runs as the daemon's user, because that is not root. */
export function choosePostgresUser(
  { env, uid }: ProcessEnvironment,
  dataFolder: string,
  users: UserDirectory = systemUsers,
): SystemUser | undefined {
  if (uid !== 0) return undefined;
  const owner = users.ownerOf(dataFolder);
  if (owner !== undefined && owner.uid !== 0) return { name: `#${owner.uid}`, ...owner };
  return chooseServiceUser(postgresService, env, users);
}
