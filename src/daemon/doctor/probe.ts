// Examines the host for checks: which tools are installed, what they print, and how to install them.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Service, systemUsers } from '../../host/process/system-user.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { type CheckResult, ok, warn } from './check.ts';

/** Returns the path of a tool, including from system directories that the PATH of a regular user does not have. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** Returns the output of a tool, from both streams; `undefined` if it cannot run or the signal stopped it. */
export function outputOf(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...args],
      { signal, timeout: 5000, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => {
        const failed = error !== null && typeof error.code !== 'number';
        resolve(failed ? undefined : `${stdout}${stderr}`);
      },
    );
  });
}

/** Returns the command that installs these packages on this host. */
export function installCommand(debianPackages: string, sudo = process.getuid?.() !== 0): string {
  if (!existsSync('/usr/bin/apt-get'))
    return `Install ${debianPackages} (names in Debian) with your package manager.`;
  return `${sudo ? 'sudo ' : ''}apt-get install -y ${debianPackages}`;
}

/** Returns the first version number in the text: [1, 47, 0] for `1.47.0`. */
export function versionIn(text: string): readonly number[] | undefined {
  const found = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return found === null ? undefined : found.slice(1, 4).map((part) => Number(part ?? 0));
}

export function isAtLeast(version: readonly number[], min: readonly number[]): boolean {
  for (const [index, wanted] of min.entries()) {
    const part = version[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Checks the user that a service runs as if the daemon runs as root. */
export function checkServiceUser(
  service: Service,
  what: string,
  env: ProcessEnvironment['env'],
): CheckResult {
  const name = env[service.variable] || service.user;
  if (systemUsers.find(name) !== undefined) return ok(`The system user ${name} exists.`);
  if (name === service.user && (findProgram('useradd') ?? findProgram('adduser')) !== undefined) {
    return ok(`The system user ${name} is created when it is first needed.`);
  }
  const detail = `User ${name} not found: ${what} would run as the user \`nobody\`, which other services can share.`;
  return warn(detail, `useradd --system --no-create-home ${name}`);
}
