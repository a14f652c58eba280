// The user that a service runs as if the daemon is root.
import { type Service, systemUsers } from '../../host/process/system-user.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import type { CheckResult } from './check.ts';
import { findProgram } from './probe.ts';

export function checkServiceUser(
  service: Service,
  what: string,
  env: ProcessEnvironment['env'],
): CheckResult {
  const name = env[service.variable] || service.user;
  if (systemUsers.find(name) !== undefined) return { state: 'ok', detail: `The system user ${name} exists.` };
  if (name === service.user && (findProgram('useradd') ?? findProgram('adduser')) !== undefined) {
    return { state: 'ok', detail: `The system user ${name} is created when it is first needed.` };
  }
  return {
    state: 'warn',
    detail: `There is no user ${name}: ${what} would run as nobody, which other services can share.`,
    fix: `useradd --system --no-create-home ${name}`,
  };
}
