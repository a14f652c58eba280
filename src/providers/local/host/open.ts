// Runs machines with QEMU on this host. Machines outlive the daemon, and the next one finds them by their records.
import { createTurns } from '../../../async/keyed-mutex.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { writeEndpoints } from '../network/guard.ts';
import { followLines, lastLines } from '../qemu/console-log.ts';
import type { HostEvent, MachineHost } from '../qemu/machine-host.ts';
import { computerBoot } from '../qemu/record.ts';
import { type MachineHostOptions, openGround, removeStraySockets } from './environment.ts';
import { KnownMachine } from './known-machine.ts';
import { createMachineNetwork } from './machine-network.ts';
import type { RunningMachine } from './running-machine.ts';

export type { MachineHostOptions } from './environment.ts';

const CHECK_EVERY_MS = 1000;
const STOP_MS = 60_000;

export async function openMachineHost(options: MachineHostOptions): Promise<MachineHost> {
  const ground = await openGround(options);
  const machines = new Map<string, KnownMachine>();
  const network = createMachineNetwork(ground.socketFolder, machines);
  const listeners = new Set<(event: HostEvent) => void>();
  const inTurn = createTurns();
  const parts = { ground, network, notify };
  let closed = false;

  function notify(event: HostEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        ground.trouble('A listener for machine events failed.', error);
      }
    }
  }

  const timer = setInterval(() => {
    for (const [id, { running }] of machines)
      running
        ?.check()
        .catch((error: unknown) => ground.trouble(`The machine ${id} cannot be checked.`, error));
  }, CHECK_EVERY_MS);
  timer.unref();

  function requireRunning(id: string): RunningMachine {
    const running = machines.get(id)?.running;
    if (running !== undefined) return running;
    throw new ImagoError('machine-not-running', `The machine ${id} is not running.`);
  }

  const host: MachineHost = {
    async start(spec) {
      checkId(spec.id);
      await inTurn(spec.id, async () => {
        if (await machines.get(spec.id)?.serveIfRunning()) return;
        const hypervisor = await ground.hypervisor();
        const place = network.place(spec.id, spec.network.pool);
        const startedAt = new Date().toISOString();
        const record = {
          format: 1,
          spec,
          startedAt,
          computerBoot: await computerBoot(),
          forwards: [],
        } as const;
        const machine = new KnownMachine(
          parts,
          place === undefined ? record : { ...record, place },
          'starting',
        );
        machines.set(spec.id, machine);
        await machine.launch(hypervisor);
      });
    },
    stop: (id, { deadlineMs }) =>
      inTurn(id, async () => (await machines.get(id)?.stop(deadlineMs)) ?? { forced: false }),
    kill: async (id) => machines.get(id)?.kill(),
    async remove(id) {
      await machines.get(id)?.kill();
      await inTurn(id, async () => {
        const machine = machines.get(id);
        if (machine === undefined) return;
        await machine.kill();
        await machine.forget();
        machines.delete(id);
        notify({ kind: 'state', id, status: host.status(id) });
      });
    },
    identify: (token, resource) => ground.tokens.check(token, resource, Date.now() / 1000)?.sub,
    status: (id) => machines.get(id)?.status ?? { id, state: 'absent', forwards: [] },
    list: () => [...machines.values()].map(({ status }) => status).sort((a, b) => (a.id < b.id ? -1 : 1)),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    report: (id) => machines.get(id)?.report,
    lastHeard: (id) => machines.get(id)?.lastHeard,
    async console(id, lines) {
      const machine = machines.get(id);
      return machine === undefined ? [] : lastLines(machine.files, lines);
    },
    async *followConsole(id, lines, signal) {
      const machine = machines.get(id);
      if (machine === undefined) return;
      const runs = () => machines.get(id)?.running !== undefined && !closed;
      yield* followLines(machine.files, lines, signal, runs);
    },
    runCommand: async (id, script, how) => requireRunning(id).commands.run(script, how),
    async held(id, work) {
      const pause = await machines.get(id)?.running?.pause();
      try {
        return await work();
      } finally {
        await pause?.go();
      }
    },
    openShell: async (id) => requireRunning(id).openShell(),
    tellAgent: async (id, word) => machines.get(id)?.running?.tellAgent(word),
    async setMetadata(id, metadata) {
      const machine = machines.get(id);
      if (machine === undefined) throw new ImagoError('machine-not-found', `There is no machine ${id}.`);
      await machine.save({ spec: { ...machine.record.spec, metadata } });
      await writeEndpoints(machine.record.spec, machine.files);
      await machine.running?.tellAgent({ kind: 'look' });
    },
    async adopt() {
      const { records, unreadable } = await ground.records.readAll();
      for (const file of unreadable) ground.trouble(`The record ${file} cannot be read.`, undefined);
      for (const record of records) {
        const machine = new KnownMachine(parts, record, 'stopped');
        machines.set(machine.id, machine);
        await machine
          .adopt()
          .catch((error: unknown) => ground.trouble(`The machine ${machine.id} cannot be adopted.`, error));
      }
      await removeStraySockets(ground.socketFolder, machines.keys());
    },
    async close({ leaveRunning, deadlineMs = STOP_MS }) {
      if (closed) return;
      if (!leaveRunning) await Promise.all([...machines.keys()].map((id) => host.stop(id, { deadlineMs })));
      closed = true;
      clearInterval(timer);
      listeners.clear();
      await Promise.all([...machines.values()].map(({ running }) => running?.close()));
    },
  };
  return host;
}

function checkId(id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(id)) return;
  throw new ImagoError('input-invalid', `The machine name ${JSON.stringify(id)} is invalid.`);
}
