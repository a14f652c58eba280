// The machine itself: Node.js, the state folder, room on disk and in memory.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { nearestExisting } from '../process/paths.ts';
import type { CheckResult, DoctorCheck } from './check.ts';
import { isAtLeast, versionIn } from './probe.ts';

const GIB = 2 ** 30;
const LEAST_NODE = [24];
const LEAST_DISK = 1 * GIB;
const GOOD_DISK = 10 * GIB;
const GOOD_MEMORY = 2 * GIB;

export function hostChecks(home: string, { uid }: ProcessEnvironment): readonly DoctorCheck[] {
  return [
    { id: 'host.node', group: 'This machine', title: 'Node.js', run: checkNode },
    { id: 'host.home', group: 'This machine', title: 'State folder', run: () => checkHome(home, uid) },
    { id: 'host.disk', group: 'This machine', title: 'Disk space', run: () => checkDisk(home) },
    { id: 'host.memory', group: 'This machine', title: 'Memory', run: checkMemory },
    { id: 'host.processors', group: 'This machine', title: 'Processors', run: checkProcessors },
  ];
}

function checkNode(): CheckResult {
  const version = versionIn(process.versions.node) ?? [];
  if (isAtLeast(version, LEAST_NODE)) {
    return { state: 'ok', detail: `Node.js ${process.versions.node} at ${process.execPath}.` };
  }
  return {
    state: 'missing',
    detail: `Node.js ${process.versions.node} is too old.`,
    fix: 'Run `npm install` in the package again, or point IMAGO_NODE at a Node.js 24.',
  };
}

function checkHome(home: string, uid: number): CheckResult {
  const folder = nearestExisting(home);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return {
      state: 'missing',
      detail: `${folder} cannot be written to.`,
      fix: uid === 0 ? 'Remount it for writing.' : 'export IMAGO_HOME=$HOME/.local/state/imago',
    };
  }
  return {
    state: 'ok',
    detail: folder === home ? `${home} can be written to.` : `${home} can be made.`,
  };
}

function checkDisk(home: string): CheckResult {
  const { bavail, bsize } = statfsSync(nearestExisting(home));
  const free = bavail * bsize;
  const detail = `${(free / GIB).toFixed(1)} GiB are free for ${home}.`;
  if (free >= GOOD_DISK) return { state: 'ok', detail };
  return {
    state: free < LEAST_DISK ? 'missing' : 'warn',
    detail,
    fix: `Free space up to ${GOOD_DISK / GIB} GiB, or point IMAGO_HOME at a larger disk.`,
  };
}

function checkMemory(): CheckResult {
  const memory = Math.min(totalmem(), memoryLimit());
  const detail = `${(memory / GIB).toFixed(1)} GiB.`;
  if (memory >= GOOD_MEMORY) return { state: 'ok', detail };
  return {
    state: 'warn',
    detail,
    fix: `Give the machine ${GOOD_MEMORY / GIB} GiB to boot test machines on it.`,
  };
}

function checkProcessors(): CheckResult {
  const count = availableParallelism();
  const detail = `${count} usable.`;
  if (count >= 2) return { state: 'ok', detail };
  return {
    state: 'warn',
    detail,
    fix: 'Give the machine 2 processors: builds and machines run beside the daemon.',
  };
}

/** What the container may use, when we are in one. */
function memoryLimit(): number {
  try {
    const limit = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8'));
    return Number.isFinite(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
