// What the host last said about each machine, so that a read of many needs no question to each. The host tells
// every change, and a death within 2 s.
import type { HostMachineStatus, MachineHost, MachineReportLine } from '../qemu/machine-host.ts';

/** When a machine that has an agent was last heard of. */
export interface LastWord {
  /** By the computer's clock. */
  readonly at: string;
  /** How long ago, by a clock that never jumps and stands still while the computer sleeps. */
  readonly ageMs: number;
}

export interface MachineBoard {
  /** `undefined` when the host does not know the machine. */
  status(machineId: string): HostMachineStatus | undefined;
  /** Since it started, or restarted itself. */
  report(machineId: string): MachineReportLine | undefined;
  /** Its last report, or its restart since; `undefined` when it has not reported since its last start. */
  lastWord(machineId: string): LastWord | undefined;
  /** Asks the host anew, after a call that changed something. */
  refresh(machineId: string): Promise<void>;
  forget(machineId: string): void;
  close(): void;
}

/** Finds the machines of an earlier daemon again, and listens from then on. */
export async function openMachineBoard(
  host: MachineHost,
  onChange: (machineId: string) => void,
): Promise<MachineBoard> {
  const statuses = new Map<string, HostMachineStatus>();
  const reports = new Map<string, MachineReportLine>();
  const words = new Map<string, { readonly at: string; readonly heardMs: number }>();

  function take(status: HostMachineStatus): void {
    const before = statuses.get(status.id);
    if (before?.startedAt !== status.startedAt) dropWords(status.id);
    if (status.state === 'absent') statuses.delete(status.id);
    else statuses.set(status.id, status);
  }

  function dropWords(machineId: string): void {
    reports.delete(machineId);
    words.delete(machineId);
  }

  function takeReport(machineId: string, report: MachineReportLine): void {
    reports.set(machineId, report);
    const ageMs = Math.max(0, Date.now() - Date.parse(report.receivedAt));
    words.set(machineId, { at: report.receivedAt, heardMs: performance.now() - ageMs });
  }

  function takeRestart(machineId: string): void {
    if (!reports.delete(machineId)) return;
    words.set(machineId, { at: new Date().toISOString(), heardMs: performance.now() });
  }

  const unwatch = host.watch((event) => {
    if (event.kind === 'state') take(event.status);
    if (event.kind === 'report') takeReport(event.id, event.report);
    if (event.kind === 'restarted') takeRestart(event.id);
    if (event.kind === 'health') {
      const known = statuses.get(event.id);
      if (known !== undefined) statuses.set(event.id, { ...known, health: event.health });
    }
    onChange(event.id);
  });
  for (const status of await host.adopt()) {
    take(status);
    const report = await host.report(status.id);
    if (report !== undefined) takeReport(status.id, report);
  }

  return {
    status: (machineId) => statuses.get(machineId),
    report: (machineId) => reports.get(machineId),
    lastWord(machineId) {
      const word = words.get(machineId);
      return word && { at: word.at, ageMs: performance.now() - word.heardMs };
    },
    async refresh(machineId) {
      take(await host.status(machineId));
    },
    forget(machineId) {
      statuses.delete(machineId);
      dropWords(machineId);
    },
    close: unwatch,
  };
}
