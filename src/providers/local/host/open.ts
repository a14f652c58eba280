// The host of machines over QEMU, as the provider sees it.

import { createTurns } from '../../../async/keyed-mutex.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { writeEndpoints } from '../network/guard.ts';
import { followLines, lastLines } from '../qemu/console-log.ts';
import type { HostEvent, MachineHost } from '../qemu/machine-host.ts';
import { machineFiles } from '../qemu/paths.ts';
import { openReportLog } from '../qemu/report-log.ts';
import { absentStatus, saveEntry, statusOf } from './entry.ts';
import { type HostGround, type MachineHostOptions, openGround, removeStraySockets } from './environment.ts';
import type { RunningMachine } from './running-machine.ts';
import { createMachineKeeper } from './supervisor.ts';

export type { MachineHostOptions } from './environment.ts';

const LOOK_EVERY_MS = 1000;
const STOP_MS = 60_000;

export async function openMachineHost(options: MachineHostOptions): Promise<MachineHost> {
  return createHost(await openGround(options));
}

function createHost(ground: HostGround): MachineHost {
  const listeners = new Set<(event: HostEvent) => void>();
  const inTurn = createTurns();
  const keeper = createMachineKeeper(ground, tell);
  const { entries } = keeper;
  let closed = false;

  function tell(event: HostEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        ground.trouble('a listener of machines failed', error);
      }
    }
  }

  const timer = setInterval(() => {
    for (const [id, { machine }] of entries)
      machine?.look().catch((error: unknown) => ground.trouble(`cannot look at ${id}`, error));
  }, LOOK_EVERY_MS);
  timer.unref();

  function filesOf(id: string) {
    const entry = entries.get(id);
    return entry === undefined ? undefined : machineFiles(entry.record.spec.folder);
  }

  function running(id: string): RunningMachine {
    const machine = entries.get(id)?.machine;
    if (machine !== undefined) return machine;
    throw new ImagoError('machine-not-running', `the machine ${id} does not run`);
  }

  return {
    async start(spec) {
      checkId(spec.id);
      await inTurn(spec.id, () => keeper.start(spec));
    },
    stop: (id, { deadlineMs }) => inTurn(id, () => keeper.stop(id, deadlineMs)),
    kill: (id) => keeper.kill(id),
    async remove(id) {
      await keeper.kill(id);
      await inTurn(id, async () => {
        if (!entries.has(id)) return;
        await keeper.kill(id);
        await keeper.forget(id);
        tell({ kind: 'state', id, status: absentStatus(id) });
      });
    },
    async status(id) {
      const entry = entries.get(id);
      return entry === undefined ? absentStatus(id) : statusOf(entry);
    },
    state: async (id) => entries.get(id)?.state ?? 'absent',
    list: async () => [...entries.values()].map(statusOf).sort((a, b) => (a.id < b.id ? -1 : 1)),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async report(id) {
      const machine = entries.get(id)?.machine;
      if (machine !== undefined) return machine.report();
      const files = filesOf(id);
      if (files === undefined) return undefined;
      return openReportLog(files.report).read();
    },
    async console(id, lines) {
      const files = filesOf(id);
      return files === undefined ? [] : lastLines(files, lines);
    },
    async *followConsole(id, lines, signal) {
      const files = filesOf(id);
      if (files === undefined) return;
      yield* followLines(files, lines, signal, () => entries.get(id)?.machine !== undefined && !closed);
    },
    runCommand: async (id, script, how) => running(id).commands.run(script, how),
    async held(id, work) {
      const pause = await entries.get(id)?.machine?.pause();
      try {
        return await work();
      } finally {
        await pause?.go();
      }
    },
    openShell: async (id) => running(id).openShell(),
    tellAgent: async (id, word) => entries.get(id)?.machine?.tellAgent(word),
    async setMetadata(id, metadata) {
      const entry = entries.get(id);
      if (entry === undefined) throw new ImagoError('machine-not-found', `there is no machine ${id}`);
      const spec = { ...entry.record.spec, metadata };
      await saveEntry(ground.records, entry, { spec });
      await writeEndpoints(spec, machineFiles(spec.folder));
      await entry.machine?.tellAgent({ kind: 'look' });
    },
    async adopt() {
      const { records, unreadable } = await ground.records.readAll();
      for (const file of unreadable) ground.trouble(`the record ${file} cannot be read`, undefined);
      for (const record of records)
        await keeper
          .adopt(record)
          .catch((error: unknown) =>
            ground.trouble(`the machine ${record.spec.id} cannot be taken up again`, error),
          );
      await removeStraySockets(ground.socketFolder, entries.keys());
      return [...entries.values()].map(statusOf);
    },
    async close({ leaveRunning, deadlineMs = STOP_MS }) {
      if (closed) return;
      if (!leaveRunning)
        await Promise.all([...entries.keys()].map((id) => inTurn(id, () => keeper.stop(id, deadlineMs))));
      closed = true;
      clearInterval(timer);
      listeners.clear();
      await keeper.close();
    },
  };
}

function checkId(id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(id)) return;
  throw new ImagoError('input-invalid', `a machine cannot be named ${JSON.stringify(id)}`);
}
