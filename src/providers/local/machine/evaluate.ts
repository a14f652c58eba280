// What follows from a machine's own word, or from its silence: it is made when its agent has made it a node, and
// failed when its agent says so, when it dies, or when nothing is heard in the time that it has.

import { changeMachine, machineById } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { MachineReportLine } from '../qemu/machine-host.ts';
import { errorSaid } from './machine-view.ts';
import type { DutyContext } from './reconcile.ts';

/** One that boots longer than this does not keep others waiting. */
const placeMs = 120_000;
const lastLines = 8;

type Verdict = Partial<Pick<MachineRow, 'needsReport' | 'busyWith' | 'errorCode' | 'errorMessage'>>;

/** Takes in what is known of the machine. Answers after how many milliseconds to look again, if it has to. */
export async function heed(context: DutyContext, machineId: string): Promise<number | undefined> {
  const { world, board, queue, clock, limits } = context;
  const row = world.transaction(() => machineById(world, machineId));
  if (row === undefined || row.deletedAt !== null || row.powerDue === 1 || row.nextDigest !== null)
    return undefined;
  const report = board.report(machineId);
  const runs = isAlive(context, machineId);
  const age = clock.now() - (row.bootedAt ?? 0);
  const hasSpoken = report?.phase === 'ready' || report?.phase === 'failed';
  if (!runs || hasSpoken || age > placeMs) queue.leave(machineId);
  const verdict = await judge(context, row, report, runs && age < limits.bootMs);
  if (verdict !== undefined) record(context, row, verdict);
  if (!runs || hasSpoken) return undefined;
  const moments = row.needsReport === 1 ? [placeMs + 1, limits.bootMs] : [placeMs + 1];
  const ahead = moments.map((moment) => moment - age).filter((ms) => ms > 0);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}

function isAlive({ board }: DutyContext, machineId: string): boolean {
  const state = board.status(machineId)?.state;
  return state === 'running' || state === 'starting' || state === 'stopping';
}

async function judge(
  context: DutyContext,
  row: MachineRow,
  report: MachineReportLine | undefined,
  inTime: boolean,
): Promise<Verdict | undefined> {
  if (row.powerTo === 'stopped') return undefined;
  const status = context.board.status(row.machineId);
  if (row.needsReport === 0) {
    if (status?.state !== 'failed' || row.errorCode !== null) return undefined;
    return failed(
      'MachineCrashed',
      await lastWords(context, row, status.end?.message ?? 'Its process ended.'),
    );
  }
  if (report?.phase === 'ready') return { needsReport: 0, ...good };
  if (row.busyWith === null) return undefined;
  if (report?.phase === 'failed') {
    return failed('OSProvisioningClientError', errorSaid(report.document));
  }
  if (inTime) return undefined;
  if (status?.end !== undefined) {
    return failed('OSProvisioningFailed', await lastWords(context, row, status.end.message));
  }
  const seconds = Math.round(context.limits.bootMs / 1000);
  const silence = `The operating system of ${row.name} did not come up within ${seconds} s.`;
  const what = status?.halt === undefined ? silence : `${silence} ${status.halt.message}`;
  return failed('OSProvisioningTimedOut', await lastWords(context, row, what));
}

const good = { busyWith: null, errorCode: null, errorMessage: null } as const;

function failed(errorCode: string, errorMessage: string): Verdict {
  return { busyWith: null, errorCode, errorMessage };
}

async function lastWords({ host }: DutyContext, row: MachineRow, what: string): Promise<string> {
  const lines = await host.console(row.machineId, lastLines);
  return lines.length === 0 ? what : `${what} The console's last lines:\n${lines.join('\n')}`;
}

/** Unless something else was asked of the machine meanwhile. */
function record({ world }: DutyContext, row: MachineRow, verdict: Verdict): void {
  world.transaction(() => {
    const now = machineById(world, row.machineId);
    const same = now?.bootedAt === row.bootedAt && now.powerDue === 0 && now.disk === row.disk;
    if (same) changeMachine(world, row.machineId, verdict);
  });
}
