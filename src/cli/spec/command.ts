// Defines a command: data that parsing, help, completion, and the reference page derive from, and one function that
// calls the API and prints the result.
import type { Client } from '../../api/client/client.ts';
import type { EndpointName } from '../../api/contract/types.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Output } from '../output/output.ts';

/** Fields of a request, by name. */
export type Fields = Readonly<Record<string, unknown>>;

export interface ArgumentSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: boolean;
  /** Takes all words from here on, which follow `--`. They are `Invocation.rest`. */
  readonly rest?: true;
  /** What completion offers. */
  readonly completes?: Completes;
  /** The field that the argument is sent as, or `false` if it is not sent. Defaults to its name in lower case. */
  readonly field?: string | false;
  /** Turns the argument into several fields. */
  readonly expand?: (word: string, invocation: Invocation) => Fields | Promise<Fields>;
}

export interface FlagSpec {
  readonly description: string;
  /** Absent for switches. */
  readonly value?: string;
  readonly short?: string;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  readonly repeated?: boolean;
  readonly completes?: Completes;
  /** The field that the flag is sent as, or `false` if it is not sent. Defaults to its name in camel case. */
  readonly field?: string | false;
  /** Converts the value. Defaults to the text itself. */
  readonly read?: (value: string, flag: string) => unknown;
}

export type FlagSpecs = Readonly<Record<string, FlagSpec>>;

export type Completes = 'image' | 'pool' | 'node' | 'operation' | 'channel' | 'context' | 'file';

export interface Invocation {
  readonly args: Readonly<Record<string, string | undefined>>;
  /** The words after `--`, for a command whose last argument takes them. */
  readonly rest: readonly string[];
  /** Values of flags: text for those with a value, `true` for switches. */
  readonly flags: Readonly<Record<string, string | true | readonly string[] | undefined>>;
  /** Returns the API client, and starts the daemon if none is running. */
  client(): Promise<Client>;
  readonly out: Output;
  /** Signal that aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Everything about a command but what it does. */
export interface CommandTexts {
  /** Absent in the file of a command that is loaded on demand: its summary is where it is listed. */
  readonly summary?: string;
  readonly details?: string;
  readonly args?: readonly ArgumentSpec[];
  readonly flags?: FlagSpecs;
  readonly examples: readonly (readonly [command: string, caption: string])[];
}

export interface CommandSpec extends CommandTexts {
  /** The only endpoint that the command calls, if a builder made it. */
  readonly endpoint?: EndpointName;
  run(invocation: Invocation): Promise<void>;
}

export interface CommandGroup {
  readonly summary?: string;
  readonly commands: Readonly<Record<string, CommandEntry>>;
}

export type Command = CommandSpec | CommandGroup;

/** A command that is loaded on demand, so that a command never pays for the others. */
export interface LazyCommand {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

export type CommandEntry = Command | LazyCommand;

export function isGroup(command: Command): command is CommandGroup {
  return 'commands' in command;
}

export async function loadCommand(entry: CommandEntry): Promise<Command> {
  return 'load' in entry ? { ...(await entry.load()).command, summary: entry.summary } : entry;
}

export const commonFlags: FlagSpecs = {
  output: {
    description: 'Output format',
    value: 'FORMAT',
    short: 'o',
    choices: ['table', 'wide', 'json', 'yaml', 'name'],
  },
  json: { description: 'Same as --output json' },
  quiet: { description: 'Print only results and errors', short: 'q' },
  context: { description: 'Server to use (see `imago context list`)', value: 'NAME', completes: 'context' },
  timeout: { description: 'Maximum time to wait; what was started continues', value: 'TIME' },
  help: { description: 'Show this help', short: 'h' },
};

export const watchFlag = {
  watch: { description: 'Keep running, and print what changes', short: 'w', field: false },
} as const satisfies FlagSpecs;

export const pageFlags = {
  limit: {
    description: 'Maximum number of results (default: 100 on a terminal, else all)',
    value: 'N',
    read: readLimit,
  },
  cursor: { description: 'Continue from the cursor of the previous page', value: 'CURSOR' },
} as const satisfies FlagSpecs;

export const dryRunFlag = {
  'dry-run': { description: 'Preview the changes without making them', field: false },
} as const satisfies FlagSpecs;

export const operationFlags = {
  ...dryRunFlag,
  'no-wait': { description: 'Start the operation and return immediately', field: false },
  'refuse-if-busy': {
    description: 'Fail instead of queueing if another operation uses the same resource',
    field: false,
  },
} as const satisfies FlagSpecs;

export const yesFlag = {
  yes: { description: 'Skip the confirmation prompt', short: 'y', field: false },
} as const satisfies FlagSpecs;

export const reasonFlag = {
  reason: { description: 'Reason for the change, recorded permanently', value: 'TEXT', required: true },
} as const satisfies FlagSpecs;

export const passphraseFlag = {
  'passphrase-file': {
    description: 'File with the passphrase of the backup',
    value: 'FILE',
    completes: 'file',
  },
} as const satisfies FlagSpecs;

/** Returns the flag by which a caller of a destructive command states what it assumes. */
export function expectFlag(condition: string, value: string, read?: FlagSpec['read']) {
  return {
    expect: { description: `Fail unless ${condition}`, value, ...(read && { read }) },
  } satisfies FlagSpecs;
}

export function text(invocation: Invocation, flag: string): string | undefined {
  const value = invocation.flags[flag];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the values of a repeatable flag. */
export function texts(invocation: Invocation, flag: string): readonly string[] {
  const value = invocation.flags[flag];
  return Array.isArray(value) ? value : [];
}

export function isSet(invocation: Invocation, flag: string): boolean {
  return invocation.flags[flag] === true;
}

export function argument(invocation: Invocation, name: string): string {
  const value = invocation.args[name];
  if (value === undefined) throw new TypeError(`Argument ${name} was not parsed.`);
  return value;
}

/** Returns the value of a flag that the parser requires. */
export function requiredText(invocation: Invocation, flag: string): string {
  const value = text(invocation, flag);
  if (value === undefined) throw new TypeError(`Flag ${flag} was not parsed.`);
  return value;
}

/** Reads the value of a flag that is a whole number. */
export function readNumber(value: string, flag: string): number {
  if (/^\d{1,6}$/.test(value)) return Number(value);
  throw invalidFlag(
    flag,
    `must be a whole number, not ${JSON.stringify(value)}.`,
    `Write it like --${flag} 3.`,
  );
}

function readLimit(value: string, flag: string): number {
  if (/^[1-9]\d{0,3}$/.test(value)) return Number(value);
  throw invalidFlag(flag, `must be a whole number from 1 to 1000, not ${JSON.stringify(value)}.`);
}

export function invalidFlag(flag: string, problem: string, hint?: string): ImagoError {
  return new ImagoError('usage-invalid', `--${flag} ${problem}`, hint === undefined ? {} : { hint });
}
