// Finds, starts, and stops the programs of a control plane. They outlive the daemon, and are found by their command line:
// no file can name another process by mistake, and a crash right after a start loses none.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  identifyProcess,
  type ProcessIdentity,
  signalProcess,
  waitForExit,
} from '../../host/process/identity.ts';
import { systemPath } from '../../host/process/run-tool.ts';
import { type Service, services } from './programs.ts';

const stopMs = 20_000;

/** Returns the running programs of this directory. */
export function findProcesses(folder: string): ReadonlyMap<Service, ProcessIdentity> {
  const found = new Map<Service, ProcessIdentity>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const service = serviceOf(name, folder);
    const identity = service === undefined ? undefined : identifyProcess(Number(name));
    if (service !== undefined && identity !== undefined) found.set(service, identity);
  }
  return found;
}

function serviceOf(pid: string, folder: string): Service | undefined {
  try {
    if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) return undefined;
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const service = services.find((one) => one === basename(program));
    return args.some((arg) => arg.includes(`=${folder}/`)) ? service : undefined;
  } catch {
    return undefined;
  }
}

function logPath(folder: string, service: Service): string {
  return join(folder, 'log', `${service}.log`);
}

/** Starts a program in a session of its own. Its output goes to its log, which begins again. */
export function startService(
  folder: string,
  service: Service,
  path: string,
  flags: readonly string[],
): ProcessIdentity | undefined {
  const log = openSync(logPath(folder, service), 'w', 0o600);
  try {
    const child = spawn(path, flags, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: systemPath, HOME: folder, LC_ALL: 'C.UTF-8' },
    });
    // A program that cannot be started is reported by its absence.
    child.on('error', () => undefined);
    child.unref();
    return child.pid === undefined ? undefined : identifyProcess(child.pid);
  } finally {
    closeSync(log);
  }
}

/** Stops all, in the reverse order of their start. */
export async function stopServices(folder: string): Promise<void> {
  const running = findProcesses(folder);
  for (const service of services.toReversed()) {
    const found = running.get(service);
    if (found === undefined) continue;
    signalProcess(found, 'SIGTERM');
    if (await waitForExit(found, stopMs)) continue;
    signalProcess(found, 'SIGKILL');
    await waitForExit(found, stopMs);
  }
}

/** Returns the last lines that a program wrote. */
export async function lastLines(folder: string, service: Service, count = 3): Promise<string> {
  const text = await readFile(logPath(folder, service), 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-count).join(' | ').slice(-1000);
}
