// The background work of the provider: pending actions in rows, reports of machines, unused images. It resumes where the
// previous process was killed.

import { createLanes, type LanesOptions } from '../../async/keyed-worker.ts';
import { markMadePools } from '../../cloud/state/pool-rows.ts';
import type { VersionKey } from '../../cloud/state/rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { findVersion } from '../../cloud/state/version-rows.ts';
import { dropSnapshot } from './disk/snapshot-work.ts';
import { workOnVersion } from './gallery/version-work.ts';
import { createBootQueue } from './machine/boot-queue.ts';
import { evaluate } from './machine/evaluate.ts';
import { type DutyContext, doDuties } from './machine/reconcile.ts';
import type { HostContext, HostWork } from './state/context.ts';
import { sweepMachine, sweepStrays } from './sweep.ts';

const retryMs = 5000;

export interface LocalWorker extends HostWork {
  /** Resumes the pending work of this process and earlier ones. */
  begin(): void;
  /** Resolves when no work is in progress, except work that waits for a machine. */
  idle(): Promise<void>;
  /** Starts no further work, and waits for the work that must be completed. */
  close(): Promise<void>;
}

export function createLocalWorker(
  contextOf: () => HostContext,
  reports: Pick<LanesOptions, 'onTrouble' | 'onRepaired'>,
): LocalWorker {
  const lanes = createLanes({ retryMs, ...reports });
  const alarms = new Map<string, NodeJS.Timeout>();
  const making = new Map<string, AbortController>();
  const closing = new AbortController();
  /** Machines that a killed process can have left files of. */
  const unswept = new Set<string>();
  const queue = createBootQueue(() => contextOf().limits.bootsAtOnce, machine);

  function dutyContext(): DutyContext {
    return { ...contextOf(), queue, onDiskDropped: pruneImages };
  }

  function machine(machineId: string): void {
    const context = dutyContext();
    if (isDeleting(context.world, machineId)) context.host.kill(machineId).catch(() => undefined);
    lanes.run(`machine ${machineId}`, () => tend(context, machineId));
  }

  async function tend(context: DutyContext, machineId: string): Promise<void> {
    if (unswept.has(machineId)) await sweepMachine(context, machineId);
    unswept.delete(machineId);
    await doDuties(context, machineId);
    setAlarm(machineId, await evaluate(context, machineId));
    context.world.transaction(() => markMadePools(context.world));
  }

  function setAlarm(machineId: string, ms: number | undefined): void {
    clearTimeout(alarms.get(machineId));
    alarms.delete(machineId);
    if (ms === undefined || closing.signal.aborted) return;
    const alarm = setTimeout(() => machine(machineId), ms);
    alarm.unref();
    alarms.set(machineId, alarm);
  }

  /** Aborts the creation of a version that is being deleted. */
  function version(key: VersionKey): void {
    const name = `${key.gallery}/${key.image}/${key.version}`;
    const { world } = contextOf();
    const found = world.transaction(() => findVersion(world, key));
    if (found !== undefined && found.deletedAt !== null) making.get(name)?.abort();
    lanes.run(`version ${name}`, async () => {
      const abort = new AbortController();
      making.set(name, abort);
      try {
        await workOnVersion(contextOf(), key, AbortSignal.any([abort.signal, closing.signal]));
      } finally {
        making.delete(name);
      }
    });
  }

  function snapshot(name: string): void {
    lanes.run(`snapshot ${name}`, async () => {
      await dropSnapshot(contextOf(), name);
      pruneImages();
    });
  }

  function pruneImages(): void {
    lanes.run('images', async () => {
      const { world, images } = contextOf();
      await images.prune(world.transaction(() => usedImages(world)));
    });
  }

  return {
    machine,
    version,
    snapshot,
    begin() {
      const { world } = contextOf();
      const found = world.transaction(() => ({
        machines: world.all<{ machineId: string }>(
          'SELECT machineId FROM machine ORDER BY createdAt, ordinal',
        ),
        versions: world.all<VersionKey>(
          `SELECT gallery, image, version FROM version WHERE deletedAt IS NOT NULL
           UNION SELECT gallery, image, version FROM regionCopy WHERE readyAt IS NULL`,
        ),
        snapshots: world.all<{ name: string }>('SELECT name FROM snapshot WHERE deletedAt IS NOT NULL'),
      }));
      for (const { machineId } of found.machines) {
        unswept.add(machineId);
        machine(machineId);
      }
      lanes.run('strays', () => sweepStrays(contextOf()));
      for (const { gallery, image, version: number } of found.versions) {
        version({ gallery, image, version: number });
      }
      for (const { name } of found.snapshots) snapshot(name);
      pruneImages();
    },
    idle: () => lanes.idle(),
    async close() {
      closing.abort();
      for (const alarm of alarms.values()) clearTimeout(alarm);
      alarms.clear();
      await lanes.close();
    },
  };
}

function isDeleting(world: World, machineId: string): boolean {
  const found = world.transaction(() =>
    world.get('SELECT 1 FROM machine WHERE machineId = ? AND deletedAt IS NOT NULL', machineId),
  );
  return found !== undefined;
}

/** Returns the images under the disks of machines and snapshots, current and pending. */
function usedImages(world: World): ReadonlySet<string> {
  const rows = world.all<{ digest: string | null }>(
    `SELECT digest FROM machine UNION SELECT nextDigest FROM machine UNION SELECT digest FROM snapshot`,
  );
  return new Set(rows.flatMap(({ digest }) => digest ?? []));
}
