// Parses the words after a command by its spec. Every error names the nearest valid word.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nearest } from '../../domain/value/suggest.ts';
import {
  type ArgumentSpec,
  type CommandTexts,
  commonFlags,
  type FlagSpecs,
  type Invocation,
} from './command.ts';

export type Parsed = Pick<Invocation, 'args' | 'flags' | 'rest'>;

type Values = Record<string, string | true | readonly string[]>;

export function parseWords(command: CommandTexts, path: string, words: readonly string[]): Parsed {
  const specs: FlagSpecs = { ...commonFlags, ...command.flags };
  const flags: Values = {};
  const positional: string[] = [];
  const rest = [...words];
  const takesRest = command.args?.at(-1)?.rest === true;
  let onlyPositional = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (onlyPositional || !word.startsWith('-') || word === '-') positional.push(word);
    else if (word === '--' && takesRest) break;
    else if (word === '--') onlyPositional = true;
    else readFlag(specs, flags, word, rest, path);
  }
  if (flags.help === true) return { args: {}, flags, rest };
  checkRequired(specs, flags, path);
  const named = (command.args ?? []).filter((arg) => arg.rest !== true);
  if (takesRest && rest.length === 0) throw usage('The command is missing: write it after `--`.', path);
  return { args: readArguments(named, positional, path), flags, rest };
}

function readFlag(specs: FlagSpecs, flags: Values, word: string, rest: string[], path: string): void {
  const equals = word.indexOf('=');
  const given = equals < 0 ? word : word.slice(0, equals);
  const [name, spec] = findFlag(specs, given, path);
  if (spec.value === undefined) {
    if (equals >= 0) throw usage(`${given} does not take a value.`, path);
    flags[name] = true;
    return;
  }
  const value = equals >= 0 ? word.slice(equals + 1) : rest.shift();
  if (value === undefined) throw usage(`${given} needs a value: ${given} ${spec.value}.`, path);
  if (spec.choices !== undefined && !spec.choices.includes(value)) {
    throw usage(`${given} must be one of ${spec.choices.join(', ')}, not ${JSON.stringify(value)}.`, path);
  }
  if (spec.repeated) flags[name] = [...((flags[name] as readonly string[] | undefined) ?? []), value];
  else flags[name] = value;
}

function findFlag(specs: FlagSpecs, given: string, path: string) {
  const found = Object.entries(specs).find(
    ([name, { short }]) => given === `--${name}` || given === `-${short}`,
  );
  if (found !== undefined) return found;
  const [close] = nearest(given.replace(/^-+/, ''), Object.keys(specs));
  throw new ImagoError('usage-unknown-flag', `Unknown flag ${given} for imago ${path}.`, {
    hint: close === undefined ? `Run \`imago ${path} --help\`.` : `Did you mean --${close}?`,
  });
}

function checkRequired(specs: FlagSpecs, flags: Values, path: string): void {
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.required && flags[name] === undefined) {
      throw usage(`--${name} ${spec.value ?? ''} is required: ${spec.description}.`, path);
    }
  }
}

function readArguments(
  specs: readonly ArgumentSpec[],
  words: readonly string[],
  path: string,
): Record<string, string> {
  if (words.length > specs.length) {
    throw usage(`${JSON.stringify(words[specs.length])} is not expected: too many arguments.`, path);
  }
  const args: Record<string, string> = {};
  for (const [index, spec] of specs.entries()) {
    const word = words[index];
    if (word !== undefined) args[spec.name] = word;
    else if (!spec.optional) throw usage(`${spec.name} is missing: ${spec.description}.`, path);
  }
  return args;
}

export function usage(message: string, path: string): ImagoError {
  return new ImagoError('usage-invalid', message, { hint: `Run \`imago ${path} --help\`.` });
}
