// Formats help pages from the same data as parsing.
import {
  type Command,
  type CommandGroup,
  type CommandSpec,
  commonFlags,
  type FlagSpec,
  isGroup,
} from './command.ts';

export function helpOf(path: string, command: Command): string {
  return isGroup(command) ? groupHelp(path, command) : commandHelp(path, command);
}

function groupHelp(path: string, group: CommandGroup): string {
  const usage = path === '' ? 'imago' : `imago ${path}`;
  return [
    `${group.summary}.`,
    '',
    `Usage: ${usage} COMMAND`,
    '',
    'Commands:',
    ...rows(Object.entries(group.commands).map(([name, { summary = '' }]) => [name, summary])),
    '',
    `Run \`${usage} COMMAND --help\` or \`${path === '' ? 'imago help' : `imago help ${path}`} COMMAND\` for details.`,
  ].join('\n');
}

function commandHelp(path: string, command: CommandSpec): string {
  const own = Object.entries(command.flags ?? {});
  const lines = [`${command.summary}.`, ''];
  if (command.details !== undefined) lines.push(command.details, '');
  lines.push(`Usage: imago ${usageLine(path, command)}`, '');
  if (command.args?.length)
    lines.push('Arguments:', ...rows(command.args.map((arg) => [arg.name, arg.description])), '');
  if (own.length > 0) lines.push('Flags:', ...rows(own.map(flagRow)), '');
  lines.push('Common flags:', ...rows(Object.entries(commonFlags).map(flagRow)), '');
  lines.push(
    'Examples:',
    ...command.examples.flatMap(([example, caption]) => [`  # ${caption}`, `  ${example}`]),
  );
  return lines.join('\n');
}

export function usageLine(path: string, command: CommandSpec): string {
  const words = command.args ?? [];
  const args = words.filter(({ rest }) => !rest).map(({ name, optional }) => (optional ? `[${name}]` : name));
  const after = words.flatMap(({ name, rest }) => (rest ? [`-- ${name}...`] : []));
  const required = Object.entries(command.flags ?? {})
    .filter(([, spec]) => spec.required)
    .map(([name, spec]) => `--${name} ${spec.value ?? ''}`.trim());
  return [path, ...args, ...required, '[flags]', ...after].join(' ');
}

/** Returns the description of a flag with what follows from its spec. */
export function flagText({ description, choices, repeated, required }: FlagSpec): string {
  const notes = [...(repeated ? ['repeatable'] : []), ...(required ? ['required'] : [])];
  return [
    description,
    ...(choices === undefined ? [] : [`(${choices.join(', ')})`]),
    ...(notes.length === 0 ? [] : [`(${notes.join(', ')})`]),
  ].join(' ');
}

function flagRow([name, spec]: readonly [string, FlagSpec]): [string, string] {
  const short = spec.short === undefined ? '' : `-${spec.short}, `;
  const value = spec.value === undefined ? '' : ` ${spec.value}`;
  return [`${short}--${name}${value}`, flagText(spec)];
}

function rows(all: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...all.map(([left]) => left.length));
  return all.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
