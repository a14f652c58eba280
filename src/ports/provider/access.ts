// The way into a machine for people: its console, its shell, and how it came up. For providers that own the
// hypervisor, or have such a service.
import type { Timeline } from '../../domain/node/timeline.ts';
import type { MachineCommand, MachineCommandResult } from './machines.ts';

export interface NodeShell {
  /** What the shell says; ends when the shell, the machine or the session ends. */
  readonly output: AsyncIterable<Uint8Array>;
  write(input: Uint8Array): void;
  /** Reports the size of the terminal to the shell. Does nothing if the machine cannot receive it. */
  resize(size: { readonly rows: number; readonly columns: number }): Promise<void>;
  /** A second call does nothing. The shell in the machine stays for the next one. */
  close(): void;
}

/** Machines are named by their `machineId`. `machine-not-found` for one that the provider does not know. */
export interface NodeAccess {
  /** The last lines of the console, oldest first. */
  console(machineId: string, lines: number): Promise<readonly string[]>;
  /** The last lines, then new ones as they come, until the machine ends or the signal is aborted. */
  followConsole(machineId: string, lines: number, signal: AbortSignal): AsyncIterable<string>;
  /** Of the last start; `undefined` until the machine has reported. */
  timeline(machineId: string): Promise<Timeline | undefined>;
  /**
   * Runs a script as root, and returns when it has ended, however it ended. `machine-command-timeout` if it does not, or
   * the machine takes no commands; `machine-not-running`.
   */
  run(machineId: string, command: MachineCommand, signal: AbortSignal): Promise<MachineCommandResult>;
  /** `machine-not-running`, or `machine-shell-busy` if another user has it. */
  openShell(machineId: string): Promise<NodeShell>;
}
