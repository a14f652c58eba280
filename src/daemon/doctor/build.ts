// What building images without root needs: mmdebstrap, subordinate user ids, and tools for file systems.
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type Surroundings, stateFolder } from '../../api/daemon-paths.ts';
import { cacheBytes, defaultCacheLimits } from '../../build/prune-cache.ts';
import { formatBytes } from '../../domain/bytes.ts';
import { findTool } from '../../images/tools.ts';
import { buildCacheFolder } from '../build-cache.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram, installCommand, outputOf, versionIn } from './probe.ts';

const group = 'Builds';
const NEEDED_IDS = 65_536;

export function buildChecks(surroundings: Surroundings): readonly DoctorCheck[] {
  return [
    { id: 'build.mmdebstrap', group, title: 'mmdebstrap', run: checkMmdebstrap },
    { id: 'build.userids', group, title: 'Subordinate user ids', run: () => checkUserIds(surroundings) },
    { id: 'build.mke2fs', group, title: 'mke2fs', run: checkMke2fs },
    { id: 'build.cache', group, title: 'Build cache', run: () => checkCache(surroundings) },
  ];
}

async function checkMmdebstrap(signal: AbortSignal): Promise<CheckResult> {
  const found = findProgram('mmdebstrap');
  const version =
    found === undefined ? undefined : versionIn((await outputOf(found, ['--version'], signal)) ?? '');
  if (version !== undefined) return { state: 'ok', detail: `mmdebstrap ${version.join('.')} at ${found}.` };
  return {
    state: 'missing',
    detail: 'mmdebstrap is not installed: base systems cannot be made.',
    fix: installCommand('mmdebstrap'),
  };
}

function checkUserIds({ uid }: Surroundings): CheckResult {
  if (findProgram('newuidmap') === undefined || findProgram('newgidmap') === undefined) {
    return {
      state: uid === 0 ? 'warn' : 'missing',
      detail: 'newuidmap is not installed: builds need it to run without root.',
      fix: installCommand('uidmap'),
    };
  }
  if (uid === 0) return { state: 'ok', detail: 'Not needed by root.' };
  const user = userInfo().username;
  const lacking = ['/etc/subuid', '/etc/subgid'].filter((file) => idsOf(file, user, uid) < NEEDED_IDS);
  if (lacking.length === 0) return { state: 'ok', detail: `${user} has at least ${NEEDED_IDS} of them.` };
  return {
    state: 'missing',
    detail: `${user} has fewer than ${NEEDED_IDS} in ${lacking.join(' and ')}.`,
    fix: `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${user}`,
  };
}

/** Old ones cannot fill a file system from a tar archive: what counts is whether this one can. */
async function checkMke2fs(): Promise<CheckResult> {
  const good = await findTool('mke2fs');
  if (good !== undefined) return { state: 'ok', detail: `At ${good}.` };
  const found = findProgram('mke2fs');
  return {
    state: 'warn',
    detail: found === undefined ? 'mke2fs is not installed.' : `${found} cannot read tar archives.`,
    fix: 'node scripts/get-tools.ts disk (a newer one for Imago alone)',
  };
}

/** The daemon keeps it within its limit; what a build uses right now may stand above. */
async function checkCache(surroundings: Surroundings): Promise<CheckResult> {
  const folder = buildCacheFolder(stateFolder(surroundings), surroundings.env, surroundings.uid);
  const [bytes, limit] = [await cacheBytes(folder), defaultCacheLimits.maxBytes];
  const detail = `${formatBytes(bytes)} of at most ${formatBytes(limit)} in ${folder}.`;
  if (bytes <= limit) return { state: 'ok', detail };
  return { state: 'warn', detail, fix: 'imago prune' };
}

function idsOf(file: string, user: string, uid: number): number {
  if (!existsSync(file)) return 0;
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([who]) => who === user || who === String(uid))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
