// One machine that this host knows, whether it runs or not: its record, its process, and what its agent last reported.
import { rm } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { nameFileError } from '../../../host/files/durable-files.ts';
import { interfaceFacts, machineCards } from '../network/plan.ts';
import { describeEnd, pollUntil } from '../qemu/machine-end.ts';
import type {
  HostEvent,
  HostMachineState,
  HostMachineStatus,
  LastHeard,
  MachineReportLine,
} from '../qemu/machine-host.ts';
import { type MachineFiles, type MachineSockets, machineFiles, machineSockets } from '../qemu/paths.ts';
import { findProcess, killProcess } from '../qemu/process.ts';
import { computerBoot, type MachineRecord } from '../qemu/record.ts';
import { openReportLog } from '../qemu/report-log.ts';
import type { HostGround, Hypervisor } from './environment.ts';
import type { MachineNetwork } from './machine-network.ts';
import { holdMachine, type RunningMachine } from './running-machine.ts';
import { startMachine } from './start-machine.ts';

/** What all machines of a host share. */
export interface HostParts {
  readonly ground: HostGround;
  readonly network: MachineNetwork;
  notify(event: HostEvent): void;
}

const PRESS_EVERY_MS = 3000;
const KILL_MS = 30_000;
const YOUNG_MS = 10_000;

export class KnownMachine {
  readonly #parts: HostParts;
  record: MachineRecord;
  state: Exclude<HostMachineState, 'absent'>;
  /** The process, until its end is recorded. */
  running: RunningMachine | undefined;
  /** The last report since the machine started, or restarted itself. */
  report: MachineReportLine | undefined;
  #heard: { readonly at: string; readonly monotonicMs: number } | undefined;
  /** Whether the end of the process was requested. */
  #asked = false;
  /** The recording of the end, once the process has exited. */
  #settling: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: HostParts, record: MachineRecord, state: KnownMachine['state']) {
    this.#parts = parts;
    this.record = record;
    this.state = state;
  }

  get id(): string {
    return this.record.spec.id;
  }

  get files(): MachineFiles {
    return machineFiles(this.record.spec.folder);
  }

  get status(): HostMachineStatus {
    const { startedAt, end, forwards, health } = this.record;
    const [pid, halt] = [this.running?.pid(), this.running?.halt()];
    const address = this.#cards.pool?.address;
    return {
      ...{ id: this.id, state: this.state, startedAt, forwards },
      ...(pid === undefined ? {} : { pid }),
      ...(end === undefined ? {} : { end }),
      ...(halt === undefined ? {} : { halt }),
      ...(address === undefined ? {} : { address }),
      ...(health === undefined ? {} : { health }),
    };
  }

  get lastHeard(): LastHeard | undefined {
    const heard = this.#heard;
    return heard && { at: heard.at, ageMs: performance.now() - heard.monotonicMs };
  }

  /** Changes the record and writes it. The file never reverts to an older record. */
  async save(change: Partial<MachineRecord>): Promise<void> {
    this.record = { ...this.record, ...change };
    this.#writing = this.#writing
      .catch(() => undefined)
      .then(() => this.#parts.ground.records.write(this.record));
    await this.#writing;
  }

  /** Serves the process if it runs; `false` if it does not. */
  async serveIfRunning(): Promise<boolean> {
    await this.running?.check();
    await this.#settling;
    if (this.running !== undefined) return true;
    if ((await this.#process()) === undefined) return false;
    await this.#serve();
    return true;
  }

  /** Starts the process. When it throws, nothing of it is left running. */
  async launch({ accelerator, ...hypervisor }: Hypervisor): Promise<void> {
    const { network } = this.#parts;
    const { spec } = this.record;
    this.#notifyState();
    try {
      await this.save({});
      await network.close(this.record);
      const opened = await network.open(this.record, hypervisor.ids);
      const { forwards } = await startMachine({
        ...{ ...hypervisor, ...opened, spec, accelerator: accelerator.name },
        ...{ sockets: this.#sockets, files: this.files, cards: this.#cards },
      });
      await this.save({ forwards });
      await this.#hold();
      if (this.state === 'starting') this.state = 'running';
      this.#notifyState();
    } catch (thrown) {
      const error = nameFileError(thrown);
      await this.#abandon(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** Serves what an earlier daemon started, or records how it ended. */
  async adopt(): Promise<void> {
    if (await this.#isAlive()) return this.#serve();
    await this.#parts.network.close(this.record);
    const report = await openReportLog(this.files.report).read();
    if (report !== undefined) this.#noteReport(report);
    if (this.record.end === undefined) {
      const restarted = this.record.computerBoot !== (await computerBoot());
      await this.save({ end: await describeEnd(this.files, false, restarted) });
    }
    const kind = this.record.end?.kind;
    this.state = kind === 'crashed' || kind === 'not-started' ? 'failed' : 'stopped';
  }

  async stop(deadlineMs: number): Promise<{ readonly forced: boolean }> {
    if (this.running === undefined) return { forced: false };
    this.#asked = true;
    this.state = 'stopping';
    this.#notifyState();
    const deadline = performance.now() + deadlineMs;
    // A machine that is still booting ignores the button, so it is pressed again, and a command is sent as well.
    for (let press = 0; performance.now() < deadline; press += 1) {
      await this.running?.pressPower().catch(() => undefined);
      if (press === 1) void this.#powerOffByCommand(deadline - performance.now());
      const pause = Math.min(PRESS_EVERY_MS, deadline - performance.now());
      if (await this.#exitsWithin(pause)) return { forced: false };
    }
    await this.kill();
    return { forced: true };
  }

  async kill(): Promise<void> {
    if (this.running !== undefined) this.#asked = true;
    await killProcess(this.id, this.files.pid);
    if (await this.#exitsWithin(KILL_MS)) return;
    throw new ImagoError('machine-not-answering', `The process of machine ${this.id} does not exit.`);
  }

  /** Deletes the record of a machine that does not run, and its files except the disk. */
  async forget(): Promise<void> {
    await this.#release();
    await Promise.all(Object.values(this.files).map((path: string) => rm(path, { force: true })));
    await this.#parts.ground.records.remove(this.id);
  }

  get #cards() {
    return machineCards(this.record.spec.metadata.machineId, this.record.place);
  }

  get #sockets(): MachineSockets {
    return machineSockets(this.#parts.ground.socketFolder, this.id);
  }

  #process(): Promise<number | undefined> {
    return findProcess(this.id, this.files.pid);
  }

  #notifyState(): void {
    this.#parts.notify({ kind: 'state', id: this.id, status: this.status });
  }

  #noteReport(report: MachineReportLine): void {
    const ageMs = Math.max(0, Date.now() - Date.parse(report.receivedAt));
    this.report = report;
    this.#heard = { at: report.receivedAt, monotonicMs: performance.now() - ageMs };
  }

  #noteRestart(): void {
    if (this.report !== undefined)
      this.#heard = { at: new Date().toISOString(), monotonicMs: performance.now() };
    this.report = undefined;
  }

  async #serve(): Promise<void> {
    this.state = 'running';
    await this.#parts.network.open(this.record);
    await this.#hold();
  }

  async #hold(): Promise<void> {
    const { id } = this;
    const { ground, notify } = this.#parts;
    const notRecorded = (what: string) => (error: unknown) =>
      ground.trouble(`The ${what} of machine ${id} cannot be recorded.`, error);
    this.running = await holdMachine({
      ...{ id, sockets: this.#sockets, files: this.files, tokens: ground.tokens },
      interfaces: interfaceFacts(this.#cards),
      metadata: () => this.record.spec.metadata,
      onReport: (report) => {
        this.#noteReport(report);
        notify({ kind: 'report', id, report });
      },
      onRestart: () => {
        this.#noteRestart();
        notify({ kind: 'restarted', id });
      },
      onHalt: () => this.#notifyState(),
      onHealth: (health) => {
        this.save({ health }).catch(notRecorded('health'));
        notify({ kind: 'health', id, health });
      },
      onGone: () => {
        this.#settling = this.#settle().catch(notRecorded('end'));
      },
    });
    await this.running.check();
  }

  /** Records how the process ended, and releases what served it. */
  async #settle(): Promise<void> {
    const end = await describeEnd(this.files, this.#asked);
    this.state = end.kind === 'crashed' ? 'failed' : 'stopped';
    this.#asked = false;
    try {
      await this.save({ end });
    } finally {
      await this.#release();
    }
    this.#notifyState();
  }

  async #abandon(message: string): Promise<void> {
    await killProcess(this.id, this.files.pid);
    this.state = 'failed';
    await this.#release();
    await this.save({ end: { kind: 'not-started', at: new Date().toISOString(), message } }).catch(
      (error: unknown) =>
        this.#parts.ground.trouble(`The end of machine ${this.id} cannot be recorded.`, error),
    );
    this.#notifyState();
  }

  async #release(): Promise<void> {
    await this.running?.close();
    await this.#parts.network.close(this.record);
    this.running = undefined;
  }

  #exitsWithin(deadlineMs: number): Promise<boolean> {
    const check = () => this.running?.check();
    return pollUntil(() => this.running === undefined, check, deadlineMs);
  }

  /** The service that handles the button is among the last that a node starts; its command port is among the first. */
  async #powerOffByCommand(timeoutMs: number): Promise<void> {
    await this.running?.commands
      .run('systemctl --no-block poweroff', { timeoutMs: Math.max(timeoutMs, 1) })
      .catch(() => undefined);
  }

  /** A daemon that was killed right after it started a process can have left it without a pid file for a moment. */
  async #isAlive(): Promise<boolean> {
    let alive = (await this.#process()) !== undefined;
    const young = this.record.end === undefined && Date.now() - Date.parse(this.record.startedAt) < YOUNG_MS;
    if (alive || !young) return alive;
    const check = async () => {
      alive = (await this.#process()) !== undefined;
    };
    return pollUntil(() => alive, check, 2000);
  }
}
