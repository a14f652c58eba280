// Help pages, made from the same data as parsing.
import {
  type ArgumentSpec,
  type CommandNode,
  type CommandSpec,
  commonFlags,
  type FlagSpec,
} from './command.ts';

export function groupHelp(path: string, node: CommandNode): string {
  const children = (node.children ?? []).filter((child) => !child.hidden);
  const width = Math.max(...children.map((child) => child.name.length));
  return [
    path === '' ? 'Imago runs the whole life of Kubernetes node images.' : `${node.summary}.`,
    '',
    `Usage: imago ${path === '' ? '' : `${path} `}COMMAND`,
    '',
    'Commands:',
    ...children.map((child) => `  ${child.name.padEnd(width)}  ${child.summary}`),
    '',
    `See \`imago ${path === '' ? '' : `${path} `}COMMAND --help\` for each.`,
  ].join('\n');
}

export function commandHelp(path: string, command: CommandSpec): string {
  const own = Object.entries(command.flags ?? {});
  const lines = [`${command.summary}.`, ''];
  if (command.details !== undefined) lines.push(command.details, '');
  lines.push(`Usage: imago ${usageLine(path, command)}`, '');
  if (command.args?.length)
    lines.push('Arguments:', ...rows(command.args.map((arg) => [arg.name, arg.what])), '');
  if (own.length > 0) lines.push('Flags:', ...rows(own.map(flagRow)), '');
  lines.push('Common flags:', ...rows(Object.entries(commonFlags).map(flagRow)), '');
  lines.push('Examples:', ...command.examples.flatMap(([example, what]) => [`  # ${what}`, `  ${example}`]));
  return lines.join('\n');
}

export function usageLine(path: string, command: CommandSpec): string {
  const args = (command.args ?? []).map(argumentWord);
  const needed = Object.entries(command.flags ?? {})
    .filter(([, spec]) => spec.required)
    .map(([name, spec]) => `--${name} ${spec.value ?? ''}`.trim());
  return [path, ...args, ...needed, '[flags]'].join(' ');
}

function argumentWord(arg: ArgumentSpec): string {
  return arg.optional ? `[${arg.name}]` : arg.name;
}

function flagRow([name, spec]: readonly [string, FlagSpec]): [string, string] {
  const short = spec.short === undefined ? '' : `-${spec.short}, `;
  const value = spec.value === undefined ? '' : ` ${spec.value}`;
  const choices = spec.choices === undefined ? '' : ` (${spec.choices.join(', ')})`;
  return [`${short}--${name}${value}`, `${spec.what}${choices}`];
}

function rows(all: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...all.map(([left]) => left.length));
  return all.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
