// Single machines, for tests of an image and for builds that need one.
import type { Page, PageQuery } from './page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './provider.ts';
import type { NodePower } from './provider-pools.ts';

export interface MachineSpec {
  readonly name: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly size: string;
  readonly firmware: 'uefi' | 'bios' | 'direct';
  readonly userData: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface Machine extends MachineSpec {
  readonly machineId: string;
  readonly state: ProvisioningState;
  readonly power: NodePower;
  readonly createdAt: string;
  readonly error?: ProvisioningError;
}

/** What the machine says of itself through its agent; `undefined` until it has spoken. */
export interface MachineReport {
  readonly phase: 'booting' | 'applying' | 'ready' | 'failed';
  readonly at: string;
  readonly facts: Readonly<Record<string, string>>;
}

export interface Machines {
  /** Starts a machine from a sealed version. The same spec again adopts it. */
  createMachine(spec: MachineSpec, options: CallOptions): Promise<void>;
  getMachine(name: string, options: CallOptions): Promise<Machine | undefined>;
  listMachines(query: PageQuery, options: CallOptions): Promise<Page<Machine>>;
  report(name: string, options: CallOptions): Promise<MachineReport | undefined>;
  /** The console's last lines, oldest first. */
  console(name: string, lines: number, options: CallOptions): Promise<readonly string[]>;
  stopMachine(name: string, options: CallOptions): Promise<void>;
  startMachine(name: string, options: CallOptions): Promise<void>;
  /** Takes the machine and its disk away. */
  deleteMachine(name: string, options: CallOptions): Promise<void>;
}
