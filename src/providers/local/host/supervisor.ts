// Starts machines, holds those that run, and writes down how they end.
import { rm } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { nameFileError } from '../../../host/files/durable-files.ts';
import type { ProcessIds } from '../../../host/process/system-user.ts';
import { writeEndpoints, writeGuard } from '../network/guard.ts';
import { interfaceFacts, machineCards } from '../network/plan.ts';
import { writeRelay, writeRelayPrograms } from '../network/relay.ts';
import { writeSwitch } from '../network/switch.ts';
import { describeEnd, waitForEnd } from '../qemu/machine-end.ts';
import type { HostEvent, HostMachine } from '../qemu/machine-host.ts';
import { machineFiles, machineSockets } from '../qemu/paths.ts';
import { findProcess, killProcess } from '../qemu/process.ts';
import { computerBoot, type MachineRecord } from '../qemu/record.ts';
import { type Entry, newEntry, saveEntry, statusOf } from './entry.ts';
import type { HostGround, Hypervisor } from './environment.ts';
import { createPoolNetworks } from './pool-networks.ts';
import { holdMachine } from './running-machine.ts';
import { makePassage, makeSocketFolder, removeSocketFolder } from './socket-folder.ts';
import { startMachine } from './start-machine.ts';

export interface MachineKeeper {
  readonly entries: ReadonlyMap<string, Entry>;
  start(spec: HostMachine): Promise<void>;
  /** Takes up what an earlier daemon started, or notes how it ended. */
  adopt(record: MachineRecord): Promise<void>;
  stop(id: string, deadlineMs: number): Promise<{ readonly forced: boolean }>;
  kill(id: string): Promise<void>;
  /** Of a machine that does not run: its record, and its files but the disk. */
  forget(id: string): Promise<void>;
  /** Lets go of all of them; they go on running. */
  close(): Promise<void>;
}

const PRESS_EVERY_MS = 3000;
const KILL_MS = 30_000;
const YOUNG_MS = 10_000;

export function createMachineKeeper(ground: HostGround, tell: (event: HostEvent) => void): MachineKeeper {
  const { records, tokens } = ground;
  const entries = new Map<string, Entry>();
  const networks = createPoolNetworks(ground.socketFolder, entries);
  const socketsOf = (id: string) => machineSockets(ground.socketFolder, id);
  const save = (entry: Entry, change: Partial<MachineRecord>) => saveEntry(records, entry, change);

  function tellState(entry: Entry): void {
    tell({ kind: 'state', id: entry.record.spec.id, status: statusOf(entry) });
  }

  /** Makes what must exist before the process starts, and replaces what an earlier daemon made. */
  async function prepare(
    record: MachineRecord,
    ids?: ProcessIds,
  ): Promise<{ readonly guarded: boolean; readonly pooled: boolean }> {
    const { spec, place } = record;
    const [sockets, files] = [socketsOf(spec.id), machineFiles(spec.folder)];
    await makePassage(ground.socketFolder, ids);
    await makePassage(sockets.services, ids);
    await makeSocketFolder(sockets.folder, ids);
    const programs = await writeRelayPrograms(sockets.services);
    await writeRelay({ script: files.relay, programs, sockets: sockets.services });
    await writeEndpoints(spec, files);
    const guarded = await writeGuard({ ...files, ...sockets });
    const pool = await networks.enter(record, ids);
    const card = machineCards(spec.metadata.machineId, place).pool;
    const pooled =
      pool !== undefined && card !== undefined && (await writeSwitch(pool, card, { ...files, ...sockets }));
    return { guarded, pooled };
  }

  async function hold(entry: Entry): Promise<void> {
    const { spec, place } = entry.record;
    const { id } = spec;
    const troubleWith = (what: string) => (error: unknown) => ground.trouble(`${what} ${id}`, error);
    entry.machine = await holdMachine({
      id,
      sockets: socketsOf(id),
      files: machineFiles(spec.folder),
      tokens,
      interfaces: interfaceFacts(machineCards(spec.metadata.machineId, place)),
      metadata: () => entry.record.spec.metadata,
      onReport: (report) => tell({ kind: 'report', id, report }),
      onRestart: () => tell({ kind: 'restarted', id }),
      onHalt: () => tellState(entry),
      onHealth: (health) => {
        save(entry, { health }).catch(troubleWith('cannot record the health of'));
        tell({ kind: 'health', id, health });
      },
      onGone: () => {
        entry.settling = settle(entry).catch(troubleWith('cannot record the end of'));
      },
    });
    await entry.machine.look();
  }

  async function takeUp(entry: Entry): Promise<void> {
    entry.state = 'running';
    await prepare(entry.record);
    await hold(entry);
  }

  /** Writes down how the process ended, and lets go of what served it. */
  async function settle(entry: Entry): Promise<void> {
    const end = await describeEnd(machineFiles(entry.record.spec.folder), entry.asked);
    entry.state = end.kind === 'crashed' ? 'failed' : 'stopped';
    entry.asked = false;
    try {
      await save(entry, { end });
    } finally {
      await letGo(entry);
    }
    tellState(entry);
  }

  async function letGo(entry: Entry): Promise<void> {
    await entry.machine?.close();
    await removeSockets(entry.record);
    delete entry.machine;
  }

  async function removeSockets(record: MachineRecord): Promise<void> {
    const { folder, services } = socketsOf(record.spec.id);
    await removeSocketFolder(folder);
    await removeSocketFolder(services);
    await networks.leave(record);
  }

  async function start(spec: HostMachine): Promise<void> {
    const known = entries.get(spec.id);
    await known?.machine?.look();
    await known?.settling;
    if (known?.machine !== undefined) return;
    if (known !== undefined && (await processOf(known.record)) !== undefined) return takeUp(known);
    const hypervisor = await ground.hypervisor();
    const boot = await computerBoot();
    const place = networks.place(spec.id, spec.network.pool);
    const record: MachineRecord = {
      ...{ format: 1, spec, startedAt: new Date().toISOString(), computerBoot: boot, forwards: [] },
      ...(place === undefined ? {} : { place }),
    };
    const entry = newEntry(record, 'starting');
    entries.set(spec.id, entry);
    tellState(entry);
    try {
      await launch(entry, hypervisor);
      if (entry.state === 'starting') entry.state = 'running';
      tellState(entry);
    } catch (error) {
      throw await giveUp(entry, nameFileError(error));
    }
  }

  async function launch(entry: Entry, { accelerator, ...hypervisor }: Hypervisor): Promise<void> {
    const { spec, place } = entry.record;
    await save(entry, {});
    await removeSockets(entry.record);
    const helpers = await prepare(entry.record, hypervisor.ids);
    const { forwards } = await startMachine({
      ...{ ...hypervisor, ...helpers, spec, accelerator: accelerator.name, sockets: socketsOf(spec.id) },
      files: machineFiles(spec.folder),
      cards: machineCards(spec.metadata.machineId, place),
    });
    await save(entry, { forwards });
    await hold(entry);
  }

  async function giveUp(entry: Entry, error: unknown): Promise<unknown> {
    const { id, folder } = entry.record.spec;
    await killProcess(id, machineFiles(folder).pid);
    entry.state = 'failed';
    await letGo(entry);
    const message = error instanceof Error ? error.message : String(error);
    await save(entry, { end: { kind: 'not-started', at: new Date().toISOString(), message } }).catch(
      (other: unknown) => ground.trouble(`cannot record the end of ${id}`, other),
    );
    tellState(entry);
    return error;
  }

  async function waitUntilGone(entry: Entry, deadlineMs: number): Promise<boolean> {
    const look = () => entry.machine?.look();
    return waitForEnd(() => entry.machine === undefined, look, deadlineMs);
  }

  async function kill(id: string): Promise<void> {
    const entry = entries.get(id);
    if (entry === undefined) return;
    if (entry.machine !== undefined) entry.asked = true;
    await killProcess(id, machineFiles(entry.record.spec.folder).pid);
    if (await waitUntilGone(entry, KILL_MS)) return;
    throw new ImagoError('machine-not-answering', `the process of ${id} does not end`);
  }

  /** What hears the button is among the last that a node starts; its command port is among the first. */
  async function askToPowerOff({ machine }: Entry, timeoutMs: number): Promise<void> {
    try {
      await machine?.commands.run('systemctl --no-block poweroff', { timeoutMs: Math.max(timeoutMs, 1) });
    } catch {
      return;
    }
  }

  async function stop(id: string, deadlineMs: number): Promise<{ readonly forced: boolean }> {
    const entry = entries.get(id);
    if (entry?.machine === undefined) return { forced: false };
    entry.asked = true;
    entry.state = 'stopping';
    tellState(entry);
    const deadline = performance.now() + deadlineMs;
    // A machine that is still starting does not hear the button, so it is pressed again, and asked in words.
    for (let press = 0; performance.now() < deadline; press += 1) {
      await entry.machine?.pressPower().catch(() => undefined);
      if (press === 1) void askToPowerOff(entry, deadline - performance.now());
      const pause = Math.min(PRESS_EVERY_MS, deadline - performance.now());
      if (await waitUntilGone(entry, pause)) return { forced: false };
    }
    await kill(id);
    return { forced: true };
  }

  async function adopt(record: MachineRecord): Promise<void> {
    const entry = newEntry(record, 'stopped');
    entries.set(record.spec.id, entry);
    if (await isAlive(record)) return takeUp(entry);
    await removeSockets(record);
    if (record.end === undefined) {
      const restarted = record.computerBoot !== (await computerBoot());
      await save(entry, { end: await describeEnd(machineFiles(record.spec.folder), false, restarted) });
    }
    const kind = entry.record.end?.kind;
    entry.state = kind === 'crashed' || kind === 'not-started' ? 'failed' : 'stopped';
  }

  return {
    entries,
    start,
    adopt,
    stop,
    kill,
    async forget(id) {
      const entry = entries.get(id);
      if (entry === undefined) return;
      await letGo(entry);
      const files = Object.values(machineFiles(entry.record.spec.folder)) as string[];
      await Promise.all(files.map((path) => rm(path, { force: true })));
      await records.remove(id);
      entries.delete(id);
    },
    async close() {
      await Promise.all([...entries.values()].map(({ machine }) => machine?.close()));
    },
  };
}

/** A daemon that was killed right after it started a process may have left it without a pid file for a moment. */
async function isAlive(record: MachineRecord): Promise<boolean> {
  if ((await processOf(record)) !== undefined) return true;
  const young = record.end === undefined && Date.now() - Date.parse(record.startedAt) < YOUNG_MS;
  if (!young) return false;
  let alive = false;
  const look = async () => {
    alive = (await processOf(record)) !== undefined;
  };
  return waitForEnd(() => alive, look, 2000);
}

function processOf({ spec }: MachineRecord): Promise<number | undefined> {
  return findProcess(spec.id, machineFiles(spec.folder).pid);
}
