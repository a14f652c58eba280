// What a command is: data that parsing, help, completion and the reference page are all made from,
// and one function that calls the API and prints.
import type { Client } from '../../api/client/client.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Output } from '../output/output.ts';

export interface ArgumentSpec {
  readonly name: string;
  readonly what: string;
  readonly optional?: boolean;
  /** What completion offers. */
  readonly completes?: Completes;
}

export interface FlagSpec {
  readonly what: string;
  /** Absent for switches. */
  readonly value?: string;
  readonly short?: string;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  readonly repeated?: boolean;
  readonly completes?: Completes;
}

export type Completes = 'image' | 'pool' | 'node' | 'operation' | 'channel' | 'file';

export interface Invocation {
  readonly args: Readonly<Record<string, string | undefined>>;
  /** Values of flags: text for those with a value, `true` for switches. */
  readonly flags: Readonly<Record<string, string | true | readonly string[] | undefined>>;
  /** The API, with the daemon started when none runs. */
  client(): Promise<Client>;
  readonly out: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface CommandSpec {
  readonly summary: string;
  readonly details?: string;
  readonly args?: readonly ArgumentSpec[];
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  readonly examples: readonly (readonly [command: string, what: string])[];
  run(invocation: Invocation): Promise<void>;
}

/** A place in the tree of commands. Loaded only when it is asked for: a command never pays for the others. */
export interface CommandNode {
  readonly name: string;
  readonly summary: string;
  readonly hidden?: boolean;
  readonly load?: () => Promise<{ readonly command: CommandSpec }>;
  readonly children?: readonly CommandNode[];
}

export const commonFlags: Readonly<Record<string, FlagSpec>> = {
  output: { what: 'how to print', value: 'FORMAT', short: 'o', choices: ['table', 'json', 'name'] },
  json: { what: 'the same as --output json' },
  quiet: { what: 'print nothing but results and errors', short: 'q' },
  help: { what: 'this help', short: 'h' },
};

export function text(invocation: Invocation, flag: string): string | undefined {
  const value = invocation.flags[flag];
  return typeof value === 'string' ? value : undefined;
}

/** The values of a flag that may be given several times. */
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

export function argumentOr(invocation: Invocation, name: string, otherwise: string): string {
  return invocation.args[name] ?? otherwise;
}

/** A flag that the parser has made sure of. */
export function requiredText(invocation: Invocation, flag: string): string {
  const value = text(invocation, flag);
  if (value === undefined) throw new TypeError(`Flag ${flag} was not parsed.`);
  return value;
}

export function readCount(invocation: Invocation, flag: string): number {
  const value = requiredText(invocation, flag);
  if (!/^\d{1,6}$/.test(value)) {
    throw new ImagoError('usage-invalid', `--${flag} is a whole number, not ${JSON.stringify(value)}.`, {
      hint: `Write it like --${flag} 3.`,
    });
  }
  return Number(value);
}

export const passphraseFlag = {
  'passphrase-file': { what: 'file with the passphrase of the backup', value: 'FILE', completes: 'file' },
} as const satisfies Record<string, FlagSpec>;

export function readOptionalCount(invocation: Invocation, flag: string): number | undefined {
  return text(invocation, flag) === undefined ? undefined : readCount(invocation, flag);
}

export const yesFlag = {
  yes: { what: 'do not ask for confirmation', short: 'y' },
} as const satisfies Record<string, FlagSpec>;

/** The flags of a destructive command: confirmation, and what the caller believes to be the case. */
export function destructiveFlags(condition: string, value: string) {
  return {
    ...yesFlag,
    expect: { what: `refuse unless ${condition}`, value },
  } as const satisfies Record<string, FlagSpec>;
}
