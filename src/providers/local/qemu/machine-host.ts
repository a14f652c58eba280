// Real machines on this host: what the provider requests, and what it is notified of. The process is the truth about a
// machine; the records of the host only help to find it again after the daemon has exited.
import type { Duplex } from 'node:stream';
import type { NodeReport } from '../../../domain/node/report.ts';
import type { OpenForward, PortForward } from '../../../domain/pool/port-forward.ts';
import type { MachineMetadata, PlatformHealth } from '../imds/machine-metadata.ts';

/** `direct` starts fastest; `uefi` and `bios` prove that the disk boots on its own. */
export type MachineBoot =
  | { readonly kind: 'direct'; readonly kernel: string; readonly initrd: string; readonly cmdline: string }
  | { readonly kind: 'uefi' }
  | { readonly kind: 'bios' };

export interface HostNetwork {
  /** Machines of one pool share a separate network; absent: the machine reaches only the outside. */
  readonly pool?: string;
  /** A port that the host chooses stays the same for as long as the machine runs. */
  readonly forwards: readonly PortForward[];
  /**
   * Ports of this host's 127.0.0.1 that the machine can call at its gateway; it reaches no others. `config`: the ports
   * of the addresses in its user data, even if these change.
   */
  readonly endpoints?: readonly number[] | 'config';
}

export interface HostMachine {
  /** The machine's name, of [A-Za-z0-9._-]; unique on this host. */
  readonly id: string;
  /**
   * Stores its console and reports. It exists, and belongs to the caller with all but those files; other users cannot
   * enter its parent directory.
   */
  readonly folder: string;
  /** A qcow2 file that only this machine writes. */
  readonly disk: string;
  /** The raw image under the disk. Defaults to the one that the disk names, if any. */
  readonly backing?: string;
  readonly boot: MachineBoot;
  /** Commands reach it even if its disk has no agent. */
  readonly build?: true;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly network: HostNetwork;
  readonly metadata: MachineMetadata;
}

/**
 * `absent`: never started here, or removed. `starting`: its process is being started. `stopped`: it ended on request, on
 * its own, or with the host. `failed`: its process could not start, or exited with an error.
 */
export type HostMachineState = 'absent' | 'starting' | 'running' | 'stopping' | 'stopped' | 'failed';

export type MachineEndKind = 'powered-off' | 'stopped' | 'crashed' | 'not-started' | 'computer-restarted';

export interface MachineEnd {
  readonly kind: MachineEndKind;
  readonly at: string;
  /** Includes the last error of the hypervisor, if any. */
  readonly message: string;
}

/** `disk-full` and `disk-error`: it resumes as soon as it can write. `hypervisor-error`: it must be restarted. */
export type MachineHaltKind = 'disk-full' | 'disk-error' | 'hypervisor-error';

/** The hypervisor paused the machine although no caller requested it. */
export interface MachineHalt {
  readonly kind: MachineHaltKind;
  readonly at: string;
  readonly message: string;
}

export interface MachineReportLine {
  readonly phase: 'booting' | 'applying' | 'ready' | 'failed';
  readonly at: string;
  /** The document as the agent wrote it. */
  readonly document: NodeReport;
  /** The latest moment at which the kernel of this boot can have started, in milliseconds since 1970. */
  readonly kernelAt: number;
  /** When the report was last received, including repetitions, by this host's clock. */
  readonly receivedAt: string;
}

/** When a machine that has an agent last reported. */
export interface LastHeard {
  /** By this host's clock. */
  readonly at: string;
  /** By a clock that never jumps, and that stands still while the host sleeps. */
  readonly ageMs: number;
}

export interface HostMachineStatus {
  readonly id: string;
  readonly state: HostMachineState;
  readonly pid?: number;
  /** When the process was last started. */
  readonly startedAt?: string;
  /** How the last run ended; absent while it runs. */
  readonly end?: MachineEnd;
  /** Absent while its processors run. */
  readonly halt?: MachineHalt;
  readonly forwards: readonly OpenForward[];
  /** The address in the network of its pool. */
  readonly address?: string;
  /** What the machine reported to the wire server since its last start. */
  readonly health?: PlatformHealth;
}

/** Returns whether the machine has a process, or is about to have one. */
export function isLive({ state }: Pick<HostMachineStatus, 'state'>): boolean {
  return state === 'running' || state === 'starting' || state === 'stopping';
}

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether the machine truncated its output. */
  readonly truncated: boolean;
}

/**
 * What the agent can be sent. `look`: its config may have changed. `allow`: it can apply the config with that digest at
 * that cost. `deny`: it cannot, regardless of what was sent before.
 */
export type AgentWord =
  | { readonly kind: 'look' }
  | { readonly kind: 'allow'; readonly cost: 'restart' | 'drain'; readonly digest: string }
  | { readonly kind: 'deny'; readonly digest: string };

/** `report`: including a repetition. `restarted`: by the machine itself, which has not reported since. */
export type HostEvent =
  | { readonly kind: 'state'; readonly id: string; readonly status: HostMachineStatus }
  | { readonly kind: 'restarted'; readonly id: string }
  | { readonly kind: 'report'; readonly id: string; readonly report: MachineReportLine }
  | { readonly kind: 'health'; readonly id: string; readonly health: PlatformHealth };

export interface MachineHost {
  /**
   * Starts the machine and returns when its process runs; the boot continues. A machine that runs is left as it is,
   * regardless of the spec; one that has ended is started with this spec. Two concurrent calls share one start. Throws
   * `tool-missing` without QEMU, `machine-port-taken` if a requested port is in use, and `machine-start-failed` with the
   * hypervisor's error otherwise; then nothing of it is left running.
   */
  start(spec: HostMachine): Promise<void>;
  /**
   * Presses the power button, and kills the machine if it has not stopped by the deadline. Returns when it has stopped;
   * `forced` reports how. Does nothing if it does not run.
   */
  stop(id: string, options: { readonly deadlineMs: number }): Promise<{ readonly forced: boolean }>;
  /** Kills the machine immediately, and returns when its process has exited. Does nothing if it does not run. */
  kill(id: string): Promise<void>;
  /** Kills the machine and deletes its record, sockets, console, and reports. A second call does nothing. */
  remove(id: string): Promise<void>;
  /** Returns the id of the machine that holds this token of its identity; `undefined` if it is not valid for the resource. */
  identify(token: string, resource: string): string | undefined;
  /** Returns the current status. A process that exits is noticed within 2 s. */
  status(id: string): HostMachineStatus;
  /** Returns all that are not absent, ordered by name. */
  list(): readonly HostMachineStatus[];
  /** Calls the listener for each change until the returned function is called. */
  watch(listener: (event: HostEvent) => void): () => void;
  /** Returns the last report since the machine started, or restarted itself; `undefined` if there is none yet. */
  report(id: string): MachineReportLine | undefined;
  /** Returns when the machine last reported, or restarted itself after a report; `undefined` if it never reported. */
  lastHeard(id: string): LastHeard | undefined;
  /** Returns the last lines of the boot console, oldest first; none for an absent machine. */
  console(id: string, lines: number): Promise<readonly string[]>;
  /** Yields the last `lines` lines of the console, then each new one, until the signal aborts or the machine ends. */
  followConsole(id: string, lines: number, signal: AbortSignal): AsyncIterable<string>;
  /**
   * Runs a script in the machine as root, through its command port, and waits for the machine to open that port. The
   * machine ends a script that takes too long, with exit code 124. Throws `machine-not-running` if it does not run,
   * `machine-command-timeout` if the port is not opened or no response arrives in time, and `machine-command-lost` if
   * the machine ended or restarted: the script may have run.
   */
  runCommand(id: string, script: string, options: CommandOptions): Promise<CommandResult>;
  /**
   * Pauses the machine while `work` runs, with everything that it wrote flushed to the disk file: a copy made then is
   * what a power failure would leave. Resumes it afterwards, even if `work` throws. A machine that does not run needs
   * no pause.
   */
  held<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** Opens the machine's login shell, for one user at a time: `machine-shell-busy` for a second one. */
  openShell(id: string): Promise<Duplex>;
  /**
   * Sends a message to the machine's agent, which reads it immediately, or when it starts. A message to a machine that
   * does not run or listen is lost: the agent's reports show the effect.
   */
  tellAgent(id: string, word: AgentWord): Promise<void>;
  /**
   * Changes what IMDS returns from now on, and notifies the agent. Persists across restarts of the daemon. Throws
   * `machine-not-found` if absent.
   */
  setMetadata(id: string, metadata: MachineMetadata): Promise<void>;
  /** Finds the machines of an earlier daemon again and serves them. Call it once, before anything else. */
  adopt(): Promise<void>;
  /** Releases every machine. Machines keep running unless `leaveRunning` is false: then they are stopped first. */
  close(options: { readonly leaveRunning: boolean; readonly deadlineMs?: number }): Promise<void>;
}
