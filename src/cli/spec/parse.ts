// Reads the words after a command by its spec. Every mistake is one sentence with the nearest right word.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nearest } from '../../domain/value/suggest.ts';
import { type CommandSpec, commonFlags, type FlagSpec, type Invocation } from './command.ts';

export type Parsed = Pick<Invocation, 'args' | 'flags'>;

type Values = Record<string, string | true | readonly string[]>;

export function parseWords(command: CommandSpec, path: string, words: readonly string[]): Parsed {
  const specs = { ...commonFlags, ...command.flags };
  const flags: Values = {};
  const positional: string[] = [];
  const rest = [...words];
  let onlyPositional = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (onlyPositional || !word.startsWith('-') || word === '-') positional.push(word);
    else if (word === '--') onlyPositional = true;
    else readFlag(specs, flags, word, rest, path);
  }
  if (flags.help === true) return { args: {}, flags };
  checkRequired(specs, flags, path);
  return { args: readArguments(command, positional, path), flags };
}

function readFlag(
  specs: Readonly<Record<string, FlagSpec>>,
  flags: Values,
  word: string,
  rest: string[],
  path: string,
): void {
  const equals = word.indexOf('=');
  const given = equals < 0 ? word : word.slice(0, equals);
  const name = flagName(specs, given, path);
  const spec = specs[name] as FlagSpec;
  if (spec.value === undefined) {
    if (equals >= 0) throw usage(`${given} takes no value.`, path);
    flags[name] = true;
    return;
  }
  const value = equals >= 0 ? word.slice(equals + 1) : rest.shift();
  if (value === undefined) throw usage(`${given} needs a value: ${given} ${spec.value}.`, path);
  if (spec.choices !== undefined && !spec.choices.includes(value)) {
    throw usage(`${given} is one of ${spec.choices.join(', ')}, not ${JSON.stringify(value)}.`, path);
  }
  if (spec.repeated) flags[name] = [...((flags[name] as readonly string[] | undefined) ?? []), value];
  else flags[name] = value;
}

function flagName(specs: Readonly<Record<string, FlagSpec>>, given: string, path: string): string {
  if (given.startsWith('--') && Object.hasOwn(specs, given.slice(2))) return given.slice(2);
  if (/^-[a-zA-Z]$/.test(given)) {
    const found = Object.entries(specs).find(([, spec]) => spec.short === given.slice(1));
    if (found !== undefined) return found[0];
  }
  const [close] = nearest(given.replace(/^-+/, ''), Object.keys(specs));
  throw new ImagoError('usage-unknown-flag', `imago ${path} has no flag ${given}.`, {
    hint: close === undefined ? `See \`imago ${path} --help\`.` : `Did you mean --${close}?`,
  });
}

function checkRequired(specs: Readonly<Record<string, FlagSpec>>, flags: Values, path: string): void {
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.required && flags[name] === undefined) {
      throw usage(
        `--${name}${spec.value === undefined ? '' : ` ${spec.value}`} is needed: ${spec.what}.`,
        path,
      );
    }
  }
}

function readArguments(command: CommandSpec, words: readonly string[], path: string): Record<string, string> {
  const specs = command.args ?? [];
  if (words.length > specs.length) {
    throw usage(`${JSON.stringify(words[specs.length])} is one argument too many.`, path);
  }
  const args: Record<string, string> = {};
  for (const [index, spec] of specs.entries()) {
    const word = words[index];
    if (word !== undefined) args[spec.name] = word;
    else if (!spec.optional) throw usage(`${spec.name} is missing: ${spec.what}.`, path);
  }
  return args;
}

export function usage(message: string, path: string): ImagoError {
  return new ImagoError('usage-invalid', message, { hint: `See \`imago ${path} --help\`.` });
}
