// Single machines, for tests of an image and for builds that need one.
import type { NodeReport } from '../../domain/node/report.ts';
import type { Page, PageQuery } from '../page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './call.ts';
import type { NodePower } from './pools.ts';

export interface MachineSpec {
  readonly name: string;
  readonly region?: string;
  /** The gallery that holds the image; absent: the provider's default one. */
  readonly gallery?: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly size: string;
  readonly firmware: 'uefi' | 'bios' | 'direct';
  readonly userData: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Starts with the disk of this snapshot, which must be of a machine of the same version. */
  readonly snapshot?: string;
  /** Of its disk, at least. As large as the provider's machines are when absent. */
  readonly diskBytes?: number;
  /**
   * For a build: it is complete as soon as it runs, whatever its agent says. A disk that cannot start without firmware
   * starts by UEFI.
   */
  readonly build?: true;
}

export interface Machine extends MachineSpec {
  /** Stop, start and restart never change it; a machine recreated under the same name has another. */
  readonly machineId: string;
  readonly state: ProvisioningState;
  readonly power: NodePower;
  readonly createdAt: string;
  /** The disk that a snapshot is made of; absent when it cannot be captured. */
  readonly osDisk?: string;
  /** What is wrong with it though it runs, in words, where the provider knows. */
  readonly trouble?: string;
  readonly error?: ProvisioningError;
}

/** What the machine says of itself through its agent; `undefined` until it has spoken. */
export interface MachineReport {
  readonly phase: 'booting' | 'applying' | 'ready' | 'failed';
  readonly at: string;
  /** `machineId` is always among them; `error` when the phase is `failed`. */
  readonly facts: Readonly<Record<string, string>>;
  /** The whole of what its agent said; absent where machines are made up, or have no agent. */
  readonly node?: NodeReport;
}

export interface MachineCommand {
  /** Given to `sh -c` as root, or to PowerShell as SYSTEM. */
  readonly script: string;
  /** `sh` unless given. */
  readonly shell?: 'powershell';
  readonly timeoutMs: number;
}

export interface MachineCommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** It said more than the provider carries; the beginning is kept. */
  readonly truncated: boolean;
}

export interface Machines {
  /**
   * Starts a machine from a sealed version: the disk of that digest where the provider has it, the gallery's
   * version otherwise; `provider-not-found` when there is neither. The same spec again adopts it.
   */
  createMachine(spec: MachineSpec, options: CallOptions): Promise<void>;
  getMachine(name: string, options: CallOptions): Promise<Machine | undefined>;
  /** In the order of their names. */
  listMachines(query: PageQuery, options: CallOptions): Promise<Page<Machine>>;
  /** Of its last boot. A machine that never boots never speaks: `getMachine` tells when it has `failed`. */
  report(name: string, options: CallOptions): Promise<MachineReport | undefined>;
  /** The console's last lines, oldest first; empty before the first. */
  console(name: string, lines: number, options: CallOptions): Promise<readonly string[]>;
  /**
   * Runs a script in the machine and answers when it has ended, however it ended. Not safe to repeat blindly:
   * after `provider-timeout` or a lost reply the script may have run, or run still. A retryable
   * `provider-conflict` while the machine does not run or does not listen yet. Needs `abilities.runCommand`.
   */
  runCommand(name: string, command: MachineCommand, options: CallOptions): Promise<MachineCommandResult>;
  /** The disk stays. Stopping a stopped machine changes nothing. */
  stopMachine(name: string, options: CallOptions): Promise<void>;
  /** Starting a running machine changes nothing. */
  startMachine(name: string, options: CallOptions): Promise<void>;
  /** Takes the machine and its disk away. */
  deleteMachine(name: string, options: CallOptions): Promise<void>;
}
