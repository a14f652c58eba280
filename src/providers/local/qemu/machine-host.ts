// Real machines on this computer: what the provider asks for and what it is told. The truth about a machine
// is its process; the host's records only help to find it again after the daemon ended.
import type { Duplex } from 'node:stream';
import type { NodeReport } from '../../../domain/node/report.ts';
import type { OpenForward, PortForward } from '../../../domain/pool/port-forward.ts';
import type { MachineMetadata, PlatformHealth } from '../imds/machine-metadata.ts';

/** `direct` starts fastest; `uefi` and `bios` prove that the disk starts by itself. */
export type MachineBoot =
  | { readonly kind: 'direct'; readonly kernel: string; readonly initrd: string; readonly cmdline: string }
  | { readonly kind: 'uefi' }
  | { readonly kind: 'bios' };

export interface HostNetwork {
  /** Machines of one pool share a network of their own; absent: the machine reaches only the outside. */
  readonly pool?: string;
  /** A port that is chosen is kept for as long as the machine runs. */
  readonly forwards: readonly PortForward[];
  /**
   * Ports of this host's 127.0.0.1 that the machine may call at its gateway; it reaches no others. `config`: those
   * that the addresses in its user data have, also when these change.
   */
  readonly endpoints?: readonly number[] | 'config';
}

export interface HostMachine {
  /** The machine's name, of [A-Za-z0-9._-]; unique on this host. */
  readonly id: string;
  /**
   * Stores its console and reports. It exists, and belongs to the caller with all but those files; other users cannot
   * enter the folder above it.
   */
  readonly folder: string;
  /** A qcow2 file that this machine alone writes. */
  readonly disk: string;
  /** The raw image under the disk. Absent: the one that the disk names, if it names one. */
  readonly backing?: string;
  readonly boot: MachineBoot;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly network: HostNetwork;
  readonly metadata: MachineMetadata;
}

/**
 * `absent`: never started here, or removed. `starting`: its process is being started. `stopped`: it ended as
 * asked, by its own wish, or with the computer. `failed`: its process could not start, or ended by an error.
 */
export type HostMachineState = 'absent' | 'starting' | 'running' | 'stopping' | 'stopped' | 'failed';

export type MachineEndKind = 'powered-off' | 'stopped' | 'crashed' | 'not-started' | 'computer-restarted';

export interface MachineEnd {
  readonly kind: MachineEndKind;
  readonly at: string;
  /** In words, with the hypervisor's own last line where it said one. */
  readonly message: string;
}

/** `disk-full` and `disk-error`: it goes on by itself as soon as it can write. `hypervisor-error`: it must be started anew. */
export type MachineHaltKind = 'disk-full' | 'disk-error' | 'hypervisor-error';

/** The machine's process lives, and its processors stand still though nobody wanted it. */
export interface MachineHalt {
  readonly kind: MachineHaltKind;
  readonly at: string;
  /** In words, with what becomes of it. */
  readonly message: string;
}

export interface MachineReportLine {
  readonly phase: 'booting' | 'applying' | 'ready' | 'failed';
  readonly at: string;
  /** The whole document, as the agent wrote it. */
  readonly document: NodeReport;
  /** The latest moment at which the kernel of this boot can have started, in milliseconds since 1970. */
  readonly kernelAt: number;
  /** When it was last said, also by repeating it; by this computer's clock. */
  readonly receivedAt: string;
}

export interface HostMachineStatus {
  readonly id: string;
  readonly state: HostMachineState;
  readonly pid?: number;
  /** When the last start's process began. */
  readonly startedAt?: string;
  /** How the last run ended; absent while it runs. */
  readonly end?: MachineEnd;
  /** Absent while its processors run. */
  readonly halt?: MachineHalt;
  readonly forwards: readonly OpenForward[];
  /** In the network of its pool. */
  readonly address?: string;
  /** What the machine told the platform through the wire server since its last start. */
  readonly health?: PlatformHealth;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The machine cut its output. */
  readonly truncated: boolean;
}

/**
 * What the agent can be told. `look`: its config may be another. `allow`: there is room for what the config with
 * that digest costs. `deny`: there is not, whatever was said before.
 */
export type AgentWord =
  | { readonly kind: 'look' }
  | { readonly kind: 'allow'; readonly cost: 'restart' | 'drain'; readonly digest: string }
  | { readonly kind: 'deny'; readonly digest: string };

/** `report`: also when the agent says the same again. `restarted`: by its own wish; it has not reported since. */
export type HostEvent =
  | { readonly kind: 'state'; readonly id: string; readonly status: HostMachineStatus }
  | { readonly kind: 'restarted'; readonly id: string }
  | { readonly kind: 'report'; readonly id: string; readonly report: MachineReportLine }
  | { readonly kind: 'health'; readonly id: string; readonly health: PlatformHealth };

export interface MachineHost {
  /**
   * Starts the machine and returns when its process runs; the boot goes on. A machine that runs is left as it
   * is, whatever the spec; one that has ended is started with this spec. Two calls at a time share one start.
   * Throws `tool-missing` without QEMU, `machine-port-taken` when a named port is in use, and
   * `machine-start-failed` with the hypervisor's words otherwise; then nothing of it is left running.
   */
  start(spec: HostMachine): Promise<void>;
  /**
   * Presses the power button, and ends the machine by force when it has not gone by the deadline. Returns when
   * it is gone; `forced` says how. Stopping what does not run changes nothing.
   */
  stop(id: string, options: { readonly deadlineMs: number }): Promise<{ readonly forced: boolean }>;
  /** Ends it at once, as by pulling the plug, and returns when it is gone. Nothing to do when it does not run. */
  kill(id: string): Promise<void>;
  /** Ends the machine and forgets it: its record, sockets, console and reports. A second call does nothing. */
  remove(id: string): Promise<void>;
  status(id: string): Promise<HostMachineStatus>;
  state(id: string): Promise<HostMachineState>;
  /** All that are not absent, in the order of their names. */
  list(): Promise<readonly HostMachineStatus[]>;
  /** Calls the listener for each change until the returned function is called. Deaths are told within 2 s. */
  watch(listener: (event: HostEvent) => void): () => void;
  /** The last report since the machine started, or restarted itself; `undefined` until the agent has spoken. */
  report(id: string): Promise<MachineReportLine | undefined>;
  /** The last lines of the boot console, oldest first; empty before the first and for a machine that is absent. */
  console(id: string, lines: number): Promise<readonly string[]>;
  /** What the console says from now on, after the last `lines` lines; ends with the signal or the machine. */
  followConsole(id: string, lines: number, signal: AbortSignal): AsyncIterable<string>;
  /**
   * Runs a script in the machine as root, through its command port, and waits for the machine to open that port.
   * A script that takes longer is ended in the machine, with exit code 124. Throws `machine-not-running` when it
   * does not run, `machine-command-timeout` when the port is not opened or no answer comes in time, and
   * `machine-command-lost` when the machine ended or restarted meanwhile: the script may then have been run.
   */
  runCommand(
    id: string,
    script: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<CommandResult>;
  /**
   * Holds the machine still while `work` runs, with everything that it wrote on its disk in the file: a copy made
   * meanwhile is what a power cut would leave. It goes on afterwards, also when `work` throws. A machine that does
   * not run is worked on as it is.
   */
  held<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** The machine's login shell, for one user at a time: `machine-shell-busy` for a second one. */
  openShell(id: string): Promise<Duplex>;
  /**
   * Says a word to the machine's agent, which takes it at once, or when it starts. A word to a machine that does not
   * run, or that listens to nothing, is lost: what the agent reports tells what became of it.
   */
  tellAgent(id: string, word: AgentWord): Promise<void>;
  /**
   * What IMDS says from now on; the agent is told to look. Kept across restarts of the daemon. Throws
   * `machine-not-found` when absent.
   */
  setMetadata(id: string, metadata: MachineMetadata): Promise<void>;
  /**
   * Finds the machines of an earlier daemon again and serves them. Called once, before anything else. Gives
   * the status of each one that is known.
   */
  adopt(): Promise<readonly HostMachineStatus[]>;
  /** Lets go of every machine. Machines go on running unless `leaveRunning` is false: then they are stopped first. */
  close(options: { readonly leaveRunning: boolean; readonly deadlineMs?: number }): Promise<void>;
}
