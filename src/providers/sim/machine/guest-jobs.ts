// Jobs in simulated machines. A script takes as long as its lines `sleep SECONDS` say, half a minute without any, and
// ends with its `exit` or `false`; a line `reboot` restarts the machine in the middle. The disk lists the jobs that ran.
import { changeMachine } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { readJobScript } from '../../../domain/build/guest-job.ts';
import type { MachineCommandResult } from '../../../ports/provider/machines.ts';
import { readTraits } from '../world/traits.ts';
import { answerScript, sleepOf } from './run-command.ts';

interface StartedJob {
  readonly boot: string;
  readonly at: number;
}

/** Starts the job, or attaches to it. `undefined` if the command line asks for none. Call it in a transaction. */
export function answerJob(world: World, row: MachineRow, command: string): MachineCommandResult | undefined {
  const job = readJobScript(command);
  if (job === undefined) return undefined;
  const boot = `boot-${row.bootedAt}`;
  const name = `job/${row.machineId}/${job.id}`;
  const known = world.fact(name);
  const started: StartedJob =
    known === undefined ? { boot, at: world.time() } : (JSON.parse(known) as StartedJob);
  if (known === undefined) {
    const traits = readTraits(row.traits);
    const ran = [...(traits.ran ?? []), job.id];
    changeMachine(world, row.machineId, { traits: JSON.stringify({ ...traits, ran }) });
    world.setFact(name, JSON.stringify(started));
  }
  const lines = job.script.split('\n').map((line) => line.trim());
  const ms = sleepOf(job.script) * 1000;
  const isOver = world.time() >= started.at + ms;
  const restarts = isOver && lines.includes('reboot');
  const isLost = restarts || (started.boot !== boot && !isOver);
  const state = isLost ? 'lost' : isOver ? 'done' : 'running';
  const { exitCode, stdout } = answerScript(job.script, { hostname: row.name, machineId: row.machineId });
  const output = isOver ? stdout : '';
  const now = restarts ? `${boot}-again` : boot;
  const head = `imago-job ${state} boot=${now} started=${started.boot} exit=${isOver ? exitCode : 0} ms=${isOver ? ms : world.time() - started.at} next=${output.length}`;
  return { exitCode: 0, stdout: `${head}\n${output.slice(job.from)}`, stderr: '', truncated: false };
}

/** Forgets the jobs of machines that are being deleted. */
export function dropJobs(world: World, machineIds: readonly string[]): void {
  for (const machineId of machineIds) {
    world.run(
      `DELETE FROM fact WHERE name LIKE ? AND EXISTS
         (SELECT 1 FROM machine WHERE machineId = ? AND deletedAt IS NOT NULL)`,
      `job/${machineId}/%`,
      machineId,
    );
  }
}
