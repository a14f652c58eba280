// A daemon as tests look at it: which processes it has, and whether anything of it is left.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../../src/host/process/identity.ts';
import { type DaemonFile, readDaemonFile } from '../../src/launcher/daemon-file.ts';
import { statePaths } from '../../src/launcher/paths.ts';
import type { Imago } from './imago.ts';
import { until } from './until.ts';

export const isRoot = process.getuid?.() === 0;

export interface Status {
  readonly daemon: { readonly pid: number; readonly state: string; readonly epoch?: number };
  readonly database: { readonly pid?: number; readonly state: string; readonly embedded: boolean };
  readonly sockets: { readonly api: string; readonly database?: string };
  readonly listen?: string;
}

export function statusOf(imago: Imago): Promise<Status> {
  return imago.json<Status>(['status']);
}

/** The very process that has this pid now, so that a later one of the same pid is not taken for it. */
export function processOf(pid: number | undefined): ProcessIdentity {
  const found = pid === undefined ? undefined : identifyProcess(pid);
  if (found === undefined) throw new Error(`there is no process ${pid}`);
  return found;
}

export function daemonFile(home: string): DaemonFile | undefined {
  return readDaemonFile(statePaths(home).daemonFile);
}

export function logOf(home: string): string {
  const path = join(home, 'log', 'daemon.log');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

export function untilGone(...processes: readonly ProcessIdentity[]): Promise<boolean> {
  return until(`processes ${processes.map(({ pid }) => pid)} are gone`, () => !processes.some(isSameProcess));
}
