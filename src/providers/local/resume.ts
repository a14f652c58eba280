// Machines that ran when everything was stopped, or when the computer went down, run again afterwards.
import type { World } from '../common/world-file.ts';
import type { LocalContext } from './local-context.ts';
import { changeMachine, type MachineRow } from './machine-rows.ts';

/** Notes that these are stopped with everything else, and not because someone wanted it. */
export function markForResume(world: World, machineIds: readonly string[]): void {
  for (const machineId of machineIds) changeMachine(world, machineId, { resume: 1 });
}

/** Inside a transaction, before work begins. */
export function resumeMachines({ world, board }: LocalContext): void {
  const rows = world.all<MachineRow>(
    `SELECT * FROM machine WHERE deleting = 0 AND powerDue = 0 AND (resume = 1 OR powerTo = 'running')`,
  );
  for (const row of rows) {
    const status = board.status(row.machineId);
    const runs = status?.state === 'running' || status?.state === 'starting';
    const due = !runs && (row.resume === 1 || status?.end?.kind === 'computer-restarted');
    if (!due && row.resume === 0) continue;
    changeMachine(world, row.machineId, { resume: 0, ...(due ? { powerTo: 'running', powerDue: 1 } : {}) });
  }
}
