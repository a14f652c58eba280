// What the host last said about each machine, so that a read of many needs no question to each. The host tells
// every change, and a death within 2 s.
import type { HostMachineStatus, MachineHost, MachineReportLine } from './host/machine-host.ts';

export interface MachineBoard {
  /** `undefined` when the host does not know the machine. */
  status(machineId: string): HostMachineStatus | undefined;
  /** Of its last start. */
  report(machineId: string): MachineReportLine | undefined;
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

  function take(status: HostMachineStatus): void {
    const before = statuses.get(status.id);
    if (before?.startedAt !== status.startedAt) reports.delete(status.id);
    if (status.state === 'absent') statuses.delete(status.id);
    else statuses.set(status.id, status);
  }

  const unwatch = host.watch((event) => {
    if (event.kind === 'state') take(event.status);
    if (event.kind === 'report') reports.set(event.id, event.report);
    if (event.kind === 'health') {
      const known = statuses.get(event.id);
      if (known !== undefined) statuses.set(event.id, { ...known, health: event.health });
    }
    onChange(event.id);
  });
  for (const status of await host.adopt()) {
    take(status);
    const report = await host.report(status.id);
    if (report !== undefined) reports.set(status.id, report);
  }

  return {
    status: (machineId) => statuses.get(machineId),
    report: (machineId) => reports.get(machineId),
    async refresh(machineId) {
      take(await host.status(machineId));
    },
    forget(machineId) {
      statuses.delete(machineId);
      reports.delete(machineId);
    },
    close: unwatch,
  };
}
