// Derives the state of a machine from its agent's reports: it is complete when its agent has configured it, and failed
// when its agent reports a failure, when its process exits, or when no report arrives in time.

import { changeMachine, machineById } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import { isLive, type MachineReportLine } from '../qemu/machine-host.ts';
import { errorText } from './machine-view.ts';
import type { DutyContext } from './reconcile.ts';

/** A machine that boots longer than this no longer occupies a slot of the boot queue. */
const slotMs = 120_000;
const lastLines = 8;

type Verdict = Partial<Pick<MachineRow, 'needsReport' | 'busyWith' | 'errorCode' | 'errorMessage'>>;

/** Evaluates the reports of the machine. Returns after how many milliseconds to do so again, if needed. */
export async function evaluate(context: DutyContext, machineId: string): Promise<number | undefined> {
  const { world, host, queue, clock, limits } = context;
  const row = world.transaction(() => machineById(world, machineId));
  if (row === undefined || row.deletedAt !== null || row.powerDue === 1 || row.nextDigest !== null)
    return undefined;
  const report = host.report(machineId);
  const runs = isLive(host.status(machineId));
  const age = clock.now() - (row.bootedAt ?? 0);
  const hasReported = report?.phase === 'ready' || report?.phase === 'failed';
  if (!runs || hasReported || age > slotMs) queue.leave(machineId);
  const verdict = await judge(context, row, report, runs && age < limits.bootMs);
  if (verdict !== undefined) record(context, row, verdict);
  if (!runs || hasReported) return undefined;
  const moments = row.needsReport === 1 ? [slotMs + 1, limits.bootMs] : [slotMs + 1];
  const ahead = moments.map((moment) => moment - age).filter((ms) => ms > 0);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}

async function judge(
  context: DutyContext,
  row: MachineRow,
  report: MachineReportLine | undefined,
  inTime: boolean,
): Promise<Verdict | undefined> {
  if (row.powerTo === 'stopped') return undefined;
  const status = context.host.status(row.machineId);
  if (row.needsReport === 0) {
    if (status.state !== 'failed' || row.errorCode !== null) return undefined;
    return failed(
      'MachineCrashed',
      await withConsole(context, row, status.end?.message ?? 'Its process exited.'),
    );
  }
  if (report?.phase === 'ready') return { needsReport: 0, ...good };
  if (row.busyWith === null) return undefined;
  if (report?.phase === 'failed') {
    return failed('OSProvisioningClientError', errorText(report.document));
  }
  if (inTime) return undefined;
  if (status.end !== undefined) {
    return failed('OSProvisioningFailed', await withConsole(context, row, status.end.message));
  }
  const seconds = Math.round(context.limits.bootMs / 1000);
  const silence = `The operating system of ${row.name} did not start within ${seconds} s.`;
  const what = status.halt === undefined ? silence : `${silence} ${status.halt.message}`;
  return failed('OSProvisioningTimedOut', await withConsole(context, row, what));
}

const good = { busyWith: null, errorCode: null, errorMessage: null } as const;

function failed(errorCode: string, errorMessage: string): Verdict {
  return { busyWith: null, errorCode, errorMessage };
}

async function withConsole({ host }: DutyContext, row: MachineRow, what: string): Promise<string> {
  const lines = await host.console(row.machineId, lastLines);
  return lines.length === 0 ? what : `${what} The console's last lines:\n${lines.join('\n')}`;
}

/** Writes the verdict, unless another change of the machine was requested in the meantime. */
function record({ world }: DutyContext, row: MachineRow, verdict: Verdict): void {
  world.transaction(() => {
    const now = machineById(world, row.machineId);
    const same = now?.bootedAt === row.bootedAt && now.powerDue === 0 && now.disk === row.disk;
    if (same) changeMachine(world, row.machineId, verdict);
  });
}
