// The host of machines over QEMU: keeps a record of each, holds those that run, and tells when one ends.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../../domain/errors.ts';
import { openTokenIssuer, type TokenIssuer } from '../imds/local-token.ts';
import { type Accelerator, probeAccelerator } from './accelerator.ts';
import { followLines, lastLines } from './console-log.ts';
import { describeEnd, waitForEnd } from './machine-end.ts';
import type {
  HostEvent,
  HostMachine,
  HostMachineState,
  HostMachineStatus,
  MachineHost,
} from './machine-host.ts';
import { machineFiles, machineKey, machineSockets } from './machine-paths.ts';
import { computerBoot, type MachineRecord, machineRecords } from './machine-record.ts';
import { freeNumber, interfaceFacts, machineCards, type PoolPlace } from './network-plan.ts';
import { joinPool, type PoolStation, poolGroup } from './pool-station.ts';
import { findProcess, killProcess } from './qemu-process.ts';
import { requireQemu } from './qemu-program.ts';
import { relayProgram, writeRelay } from './relay.ts';
import { openReportLog } from './report-log.ts';
import { holdMachine, type RunningMachine } from './running-machine.ts';
import { writeFileSafely } from './safe-file.ts';
import { startMachine } from './start-machine.ts';

export interface MachineHostOptions {
  /** Records, keys and the remembered accelerator; of this user alone. */
  readonly folder: string;
  /** For sockets: a short path, of this user alone and of this host alone. */
  readonly socketFolder: string;
  /** The path of QEMU; absent: it is looked for when the first machine starts. */
  readonly qemu?: string;
  /** Absent: probed when the first machine starts, and remembered. */
  readonly accelerator?: Accelerator;
  /** Told what went wrong in the background. */
  onTrouble?(message: string, error: unknown): void;
}

interface Entry {
  record: MachineRecord;
  state: Exclude<HostMachineState, 'absent'>;
  machine?: RunningMachine;
  /** Somebody asked for its end, so that it is none of its own. */
  asked: boolean;
  /** Its process is gone, and that is being written down. */
  settling?: Promise<void>;
  writing: Promise<void>;
}

const LOOK_EVERY_MS = 1000;
const PRESS_EVERY_MS = 3000;
const STOP_MS = 60_000;
const KILL_MS = 30_000;

export async function openMachineHost(options: MachineHostOptions): Promise<MachineHost> {
  const recordFolder = join(options.folder, 'machines');
  await mkdir(recordFolder, { recursive: true, mode: 0o700 });
  await mkdir(options.socketFolder, { recursive: true, mode: 0o700 });
  const relay = join(options.folder, 'relay.mjs');
  await writeFileSafely(relay, relayProgram);
  const tokens = await openTokenIssuer(join(options.folder, 'identity-key.pem'));
  const hostKey = await openHostKey(join(options.folder, 'host-key'));
  return createHost(options, { records: machineRecords(recordFolder), relay, tokens, hostKey });
}

interface HostGround {
  readonly records: ReturnType<typeof machineRecords>;
  readonly relay: string;
  readonly tokens: TokenIssuer;
  readonly hostKey: string;
}

function createHost(options: MachineHostOptions, ground: HostGround): MachineHost {
  const { records, tokens } = ground;
  const entries = new Map<string, Entry>();
  const lanes = new Map<string, Promise<unknown>>();
  const listeners = new Set<(event: HostEvent) => void>();
  const stations = new Map<string, Promise<PoolStation>>();
  let closed = false;

  const timer = setInterval(() => {
    for (const [id, { machine }] of entries)
      machine?.look().catch((error: unknown) => options.onTrouble?.(`cannot look at ${id}`, error));
  }, LOOK_EVERY_MS);
  timer.unref();

  /** Starts and ends of one machine come one after the other. */
  function inLane<T>(id: string, work: () => Promise<T>): Promise<T> {
    const turn = (lanes.get(id) ?? Promise.resolve()).catch(() => undefined).then(work);
    lanes.set(id, turn);
    const clear = () => {
      if (lanes.get(id) === turn) lanes.delete(id);
    };
    turn.then(clear, clear);
    return turn;
  }

  function tell(event: HostEvent): void {
    if (closed) return;
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        options.onTrouble?.('a listener of machines failed', error);
      }
    }
  }

  function tellState(entry: Entry): void {
    tell({ kind: 'state', id: entry.record.spec.id, status: statusOf(entry) });
  }

  async function save(entry: Entry, change: Partial<MachineRecord>): Promise<void> {
    entry.record = { ...entry.record, ...change };
    entry.writing = entry.writing.catch(() => undefined).then(() => records.write(entry.record));
    await entry.writing;
  }

  function placeOf(id: string, pool: string | undefined): PoolPlace | undefined {
    if (pool === undefined) return undefined;
    const taken = new Set<number>();
    for (const { record } of entries.values()) {
      if (record.spec.network.pool !== pool || record.place === undefined) continue;
      if (record.spec.id === id) return record.place;
      taken.add(record.place.number);
    }
    const number = freeNumber(taken);
    if (number === undefined) throw new ImagoError('provider-quota', `the network of ${pool} is full`);
    return { number, ...poolGroup(ground.hostKey, pool) };
  }

  /** The address that the pool's machine with this card has. */
  function addressIn(pool: string, mac: string): string | undefined {
    for (const { record } of entries.values()) {
      if (record.spec.network.pool !== pool) continue;
      const card = machineCards(record.spec.metadata.machineId, record.place).pool;
      if (card?.mac === mac) return card.address;
    }
    return undefined;
  }

  async function enterPool(pool: string, place: PoolPlace): Promise<void> {
    const station = stations.get(pool) ?? joinPool(place, (mac) => addressIn(pool, mac));
    stations.set(pool, station);
    await station.catch((error: unknown) => {
      stations.delete(pool);
      throw error;
    });
  }

  async function leaveEmptyPools(): Promise<void> {
    const used = new Set(
      [...entries.values()].map(({ machine, record }) => machine && record.spec.network.pool),
    );
    for (const [pool, station] of stations) {
      if (used.has(pool)) continue;
      stations.delete(pool);
      await (await station).close();
    }
  }

  /** What must be there before the process starts, and be as this daemon makes it. */
  async function prepare({ spec, place }: MachineRecord): Promise<void> {
    const sockets = machineSockets(options.socketFolder, spec.id);
    await mkdir(sockets.folder, { recursive: true, mode: 0o700 });
    await writeRelay({
      script: machineFiles(spec.folder).relay,
      node: process.execPath,
      program: ground.relay,
      sockets: sockets.folder,
    });
    if (spec.network.pool !== undefined && place !== undefined) await enterPool(spec.network.pool, place);
  }

  async function hold(entry: Entry): Promise<void> {
    const { spec, place } = entry.record;
    const { id } = spec;
    entry.machine = await holdMachine({
      id,
      sockets: machineSockets(options.socketFolder, id),
      files: machineFiles(spec.folder),
      tokens,
      interfaces: interfaceFacts(machineCards(spec.metadata.machineId, place)),
      metadata: () => entry.record.spec.metadata,
      onReport: (report) => tell({ kind: 'report', id, report }),
      onHealth: (health) => {
        save(entry, { health }).catch((error: unknown) => options.onTrouble?.(`cannot record ${id}`, error));
        tell({ kind: 'health', id, health });
      },
      onGone: () => {
        entry.settling = settle(entry).catch((error: unknown) =>
          options.onTrouble?.(`cannot record the end of ${id}`, error),
        );
      },
    });
  }

  /** Writes down how the process ended, and lets go of what served it. */
  async function settle(entry: Entry): Promise<void> {
    const { spec } = entry.record;
    const end = await describeEnd(machineFiles(spec.folder), entry.asked);
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
    const { machine, record } = entry;
    await machine?.close();
    await rm(machineSockets(options.socketFolder, record.spec.id).folder, { recursive: true, force: true });
    await leaveEmptyPools();
    delete entry.machine;
  }

  async function start(spec: HostMachine): Promise<void> {
    checkId(spec.id);
    const known = entries.get(spec.id);
    await known?.machine?.look();
    await known?.settling;
    if (known?.machine !== undefined) return;
    const qemu = options.qemu ?? (await requireQemu());
    const accelerator = options.accelerator ?? (await knownAccelerator(options, qemu));
    const place = placeOf(spec.id, spec.network.pool);
    const record: MachineRecord = {
      format: 1,
      spec,
      startedAt: new Date().toISOString(),
      computerBoot: await computerBoot(),
      ...(place === undefined ? {} : { place }),
      forwards: [],
    };
    const entry: Entry = { record, state: 'starting', asked: false, writing: Promise.resolve() };
    entries.set(spec.id, entry);
    await save(entry, {});
    tellState(entry);
    const files = machineFiles(spec.folder);
    try {
      await prepare(entry.record);
      const { forwards } = await startMachine({
        spec,
        qemu,
        accelerator: accelerator.name,
        sockets: machineSockets(options.socketFolder, spec.id),
        files,
        cards: machineCards(spec.metadata.machineId, place),
      });
      await save(entry, { forwards });
      await hold(entry);
      await entry.machine?.look();
      if (entry.state === 'starting') entry.state = 'running';
      tellState(entry);
    } catch (error) {
      await killProcess(files.pid);
      entry.state = 'failed';
      await letGo(entry);
      const message = error instanceof Error ? error.message : String(error);
      await save(entry, { end: { kind: 'not-started', at: new Date().toISOString(), message } });
      tellState(entry);
      throw error;
    }
  }

  async function waitUntilGone(entry: Entry, deadlineMs: number): Promise<boolean> {
    return waitForEnd(
      () => entry.machine === undefined,
      () => entry.machine?.look(),
      deadlineMs,
    );
  }

  async function kill(id: string): Promise<void> {
    const entry = entries.get(id);
    if (entry === undefined) return;
    if (entry.machine !== undefined) entry.asked = true;
    await killProcess(machineFiles(entry.record.spec.folder).pid);
    if (!(await waitUntilGone(entry, KILL_MS)))
      throw new ImagoError('machine-not-answering', `the process of ${id} does not end`);
  }

  async function stop(id: string, deadlineMs: number): Promise<{ forced: boolean }> {
    const entry = entries.get(id);
    if (entry?.machine === undefined) return { forced: false };
    entry.asked = true;
    entry.state = 'stopping';
    tellState(entry);
    const deadline = performance.now() + deadlineMs;
    // A machine that is still starting does not hear the button, so it is pressed again.
    while (performance.now() < deadline) {
      await entry.machine?.pressPower().catch(() => undefined);
      const pause = Math.min(PRESS_EVERY_MS, deadline - performance.now());
      if (await waitUntilGone(entry, pause)) return { forced: false };
    }
    await kill(id);
    return { forced: true };
  }

  function running(id: string): RunningMachine {
    const machine = entries.get(id)?.machine;
    if (machine !== undefined) return machine;
    throw new ImagoError('machine-not-running', `the machine ${id} does not run`);
  }

  async function adoptOne(record: MachineRecord): Promise<void> {
    const entry: Entry = { record, state: 'stopped', asked: false, writing: Promise.resolve() };
    entries.set(record.spec.id, entry);
    const files = machineFiles(record.spec.folder);
    if (await isAlive(record)) {
      entry.state = 'running';
      await prepare(record);
      await hold(entry);
      await entry.machine?.look();
      return;
    }
    await rm(machineSockets(options.socketFolder, record.spec.id).folder, { recursive: true, force: true });
    if (record.end === undefined) {
      const restarted = record.computerBoot !== (await computerBoot());
      const end = await describeEnd(files, false, restarted);
      await save(entry, { end });
    }
    const kind = entry.record.end?.kind;
    entry.state = kind === 'crashed' || kind === 'not-started' ? 'failed' : 'stopped';
  }

  return {
    start: (spec) => inLane(spec.id, () => start(spec)),
    stop: (id, { deadlineMs }) => inLane(id, () => stop(id, deadlineMs)),
    kill,
    async remove(id) {
      await kill(id);
      await inLane(id, async () => {
        await kill(id);
        const entry = entries.get(id);
        if (entry === undefined) return;
        await letGo(entry);
        const files = Object.values(machineFiles(entry.record.spec.folder)) as string[];
        await Promise.all(files.map((path) => rm(path, { force: true })));
        await records.remove(id);
        entries.delete(id);
        tell({ kind: 'state', id, status: { id, state: 'absent', forwards: [] } });
      });
    },
    status: async (id) => {
      const entry = entries.get(id);
      return entry === undefined ? { id, state: 'absent', forwards: [] } : statusOf(entry);
    },
    state: async (id) => entries.get(id)?.state ?? 'absent',
    list: async () =>
      [...entries.keys()]
        .sort()
        .flatMap((id) => entries.get(id) ?? [])
        .map(statusOf),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async report(id) {
      const entry = entries.get(id);
      if (entry?.machine !== undefined) return entry.machine.report();
      if (entry === undefined) return undefined;
      return openReportLog(machineFiles(entry.record.spec.folder).report, () =>
        new Date().toISOString(),
      ).read();
    },
    async console(id, lines) {
      const entry = entries.get(id);
      return entry === undefined ? [] : lastLines(machineFiles(entry.record.spec.folder), lines);
    },
    async *followConsole(id, lines, signal) {
      const entry = entries.get(id);
      if (entry === undefined) return;
      const live = () => entry.machine !== undefined && !closed;
      yield* followLines(machineFiles(entry.record.spec.folder), lines, signal, live);
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
    async setMetadata(id, metadata) {
      const entry = entries.get(id);
      if (entry === undefined) throw new ImagoError('machine-not-found', `there is no machine ${id}`);
      await save(entry, { spec: { ...entry.record.spec, metadata } });
    },
    async adopt() {
      const { records: found, unreadable } = await records.readAll();
      for (const file of unreadable) options.onTrouble?.(`the record ${file} cannot be read`, undefined);
      for (const record of found)
        await adoptOne(record).catch((error: unknown) =>
          options.onTrouble?.(`the machine ${record.spec.id} cannot be taken up again`, error),
        );
      await removeStrays(options.socketFolder, new Set(entries.keys()));
      return [...entries.values()].map(statusOf);
    },
    async close({ leaveRunning, deadlineMs = STOP_MS }) {
      if (closed) return;
      if (!leaveRunning) {
        const ids = [...entries.keys()];
        await Promise.all(ids.map((id) => inLane(id, () => stop(id, deadlineMs))));
      }
      closed = true;
      clearInterval(timer);
      listeners.clear();
      await Promise.all([...entries.values()].map(({ machine }) => machine?.close()));
      for (const station of stations.values()) await (await station).close();
      stations.clear();
    },
  };
}

function statusOf({ record, state, machine }: Entry): HostMachineStatus {
  const pid = machine?.pid();
  const address = machineCards(record.spec.metadata.machineId, record.place).pool?.address;
  return {
    id: record.spec.id,
    state,
    ...(pid === undefined ? {} : { pid }),
    startedAt: record.startedAt,
    ...(record.end === undefined ? {} : { end: record.end }),
    forwards: record.forwards,
    ...(address === undefined ? {} : { address }),
    ...(record.health === undefined ? {} : { health: record.health }),
  };
}

/** A daemon that was killed right after it started a process may have left it without a pid file for a moment. */
async function isAlive(record: MachineRecord): Promise<boolean> {
  const { pid } = machineFiles(record.spec.folder);
  if ((await findProcess(pid)) !== undefined) return true;
  const young = record.end === undefined && Date.now() - Date.parse(record.startedAt) < 10_000;
  if (!young) return false;
  let alive = false;
  await waitForEnd(
    () => alive,
    async () => {
      alive = (await findProcess(pid)) !== undefined;
    },
    2000,
  );
  return alive;
}

async function knownAccelerator({ folder }: MachineHostOptions, qemu: string): Promise<Accelerator> {
  return probeAccelerator({ qemu, cacheFile: join(folder, 'accelerator.json') });
}

async function removeStrays(folder: string, ids: ReadonlySet<string>): Promise<void> {
  const kept = new Set([...ids].map(machineKey));
  for (const name of await readdir(folder))
    if (/^[0-9a-f]{12}$/.test(name) && !kept.has(name))
      await rm(join(folder, name), { recursive: true, force: true });
}

async function openHostKey(path: string): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => undefined);
  if (known !== undefined) return known;
  const key = randomBytes(16).toString('hex');
  await writeFileSafely(path, key);
  return key;
}

function checkId(id: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(id))
    throw new ImagoError('input-invalid', `a machine cannot be named ${JSON.stringify(id)}`);
}
