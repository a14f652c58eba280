// Restarts machines that ran when everything was stopped, or when the host was restarted.
import { existsSync } from 'node:fs';
import { changeMachine } from '../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../cloud/state/rows.ts';
import { isLive } from './qemu/machine-host.ts';
import { type HostContext, localPaths, openLocalState } from './state/context.ts';

/** Records that these are stopped with everything else, and not on request. No provider is open. */
export function noteStopped(folder: string, machineIds: readonly string[]): void {
  const { world: file } = localPaths(folder);
  if (machineIds.length === 0 || !existsSync(file)) return;
  const world = openLocalState(file);
  try {
    world.transaction(() => {
      for (const machineId of machineIds) changeMachine(world, machineId, { resume: 1 });
    });
  } finally {
    world.close();
  }
}

/** Call it inside a transaction, before work starts. A machine that was stopped on request stays stopped. */
export function resumeMachines({ world, host }: HostContext): void {
  const rows = world.all<MachineRow>(
    `SELECT * FROM machine WHERE deletedAt IS NULL AND powerDue = 0 AND (resume = 1 OR powerTo = 'running')`,
  );
  for (const row of rows) {
    const status = host.status(row.machineId);
    const wanted =
      row.powerTo === 'running' && (row.resume === 1 || status.end?.kind === 'computer-restarted');
    const due = wanted && !isLive(status);
    if (due || row.resume === 1) changeMachine(world, row.machineId, { resume: 0, powerDue: Number(due) });
  }
}
