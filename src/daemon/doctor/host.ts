// Checks the host: Node.js, the state directory, disk space, memory, and processors.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, totalmem, uptime } from 'node:os';
import { formatDuration } from '../../domain/value/duration.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { nearestExisting } from '../process/paths.ts';
import { type CheckResult, type DoctorCheck, missing, ok, warn } from './check.ts';
import { isAtLeast, versionIn } from './probe.ts';

const GIB = 2 ** 30;
const minNode = [24];
const minDisk = 1 * GIB;
const recommendedDisk = 10 * GIB;
const recommendedMemory = 2 * GIB;
const group = 'This host';
/** No clock is right that shows an earlier time. */
const released = Date.parse('2026-01-01');
const maxJumpMs = 10_000;
/** As the clock showed it when this process started. Unlike the monotonic clock, the uptime counts suspended time. */
const bootAt = Date.now() - uptime() * 1000;

export function hostChecks(home: string, { uid }: ProcessEnvironment): readonly DoctorCheck[] {
  return [
    { id: 'host.node', group, title: 'Node.js', run: checkNode },
    { id: 'host.home', group, title: 'State directory', run: () => checkHome(home, uid) },
    { id: 'host.disk', group, title: 'Disk space', run: () => checkDisk(home) },
    { id: 'host.memory', group, title: 'Memory', run: checkMemory },
    { id: 'host.processors', group, title: 'Processors', run: checkProcessors },
    { id: 'host.clock', group, title: 'Clock', run: checkClock },
  ];
}

function checkNode(): CheckResult {
  const version = versionIn(process.versions.node) ?? [];
  if (isAtLeast(version, minNode)) {
    return ok(`Node.js ${process.versions.node} at ${process.execPath}.`);
  }
  return missing(
    `Node.js ${process.versions.node} is too old.`,
    'Run `npm install` in the package again, or set IMAGO_NODE to a Node.js 24.',
  );
}

function checkHome(home: string, uid: number): CheckResult {
  const folder = nearestExisting(home);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return missing(
      `${folder} cannot be written to.`,
      uid === 0 ? 'Remount it for writing.' : 'export IMAGO_HOME=$HOME/.local/state/imago',
    );
  }
  return ok(folder === home ? `${home} can be written to.` : `${home} can be created.`);
}

function checkDisk(home: string): CheckResult {
  const { bavail, bsize } = statfsSync(nearestExisting(home));
  const free = bavail * bsize;
  const detail = `${(free / GIB).toFixed(1)} GiB are free for ${home}.`;
  if (free >= recommendedDisk) return ok(detail);
  const fix = `Free up ${recommendedDisk / GIB} GiB, or set IMAGO_HOME to a directory on a larger disk.`;
  return free < minDisk ? missing(detail, fix) : warn(detail, fix);
}

function checkMemory(): CheckResult {
  const memory = Math.min(totalmem(), memoryLimit());
  const detail = `${(memory / GIB).toFixed(1)} GiB.`;
  if (memory >= recommendedMemory) return ok(detail);
  return warn(detail, `The host needs ${recommendedMemory / GIB} GiB to boot test machines.`);
}

function checkProcessors(): CheckResult {
  const count = availableParallelism();
  const detail = `${count} usable.`;
  if (count >= 2) return ok(detail);
  return warn(detail, 'The host needs 2 processors: builds and machines run next to the daemon.');
}

/** Certificates, schedules, gates, and `--at` depend on the clock. The time since boot shows whether it was set. */
function checkClock(): CheckResult {
  const now = Date.now();
  const shown = new Date(now).toISOString();
  if (now < released)
    return missing(`It shows ${shown}, which is in the past.`, 'Set the clock of this host.');
  const jumpMs = now - uptime() * 1000 - bootAt;
  if (Math.abs(jumpMs) > maxJumpMs) {
    const way = jumpMs > 0 ? 'ahead' : 'back';
    return warn(
      `It shows ${shown}, and was set ${way} by ${formatDuration(Math.abs(jumpMs))} while Imago ran.`,
      'Times that were recorded in between are wrong. Run a time service such as chrony or systemd-timesyncd.',
    );
  }
  return ok(`It shows ${shown}.`);
}

/** Returns the memory limit of the container, if the daemon runs in one. */
function memoryLimit(): number {
  try {
    const limit = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8'));
    return Number.isFinite(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
