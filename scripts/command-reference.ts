// docs/commands.md: every command with its flags and examples, from the same data as --help.

import { commandTree } from '../src/cli/command-tree.ts';
import type { CommandNode, FlagSpec } from '../src/cli/spec/command.ts';
import { usageLine } from '../src/cli/spec/help.ts';

export async function commandReference(): Promise<string> {
  const parts = [
    '# Commands',
    '',
    'Every command takes `-o table|json|name` (`--json` is `-o json`: one document on standard output), `--quiet` and `--help`, and `--dry-run` where it writes. Lists are `{"items": […], "next": …}`, errors `{"error": {"code", "message", "hint"}}`.',
    '',
    'Exit codes: 0 success, 1 failed operation, 2 wrong usage or input, 3 not found, 4 refused (policy or conflict), 5 provider, quota or timeout, 70 our bug, 130 cancelled.',
    '',
  ];
  for (const child of commandTree.children ?? []) parts.push(...(await describeNode(child, child.name)));
  return `${parts.join('\n').trimEnd()}\n`;
}

async function describeNode(node: CommandNode, path: string): Promise<string[]> {
  if (node.hidden) return [];
  if (node.children !== undefined) {
    const parts: string[] = [];
    for (const child of node.children) parts.push(...(await describeNode(child, `${path} ${child.name}`)));
    return parts;
  }
  const command = (await node.load?.())?.command;
  if (command === undefined) throw new Error(`There is no command behind imago ${path}.`);
  const lines = [
    `## imago ${path}`,
    '',
    `${command.summary}.${command.details ? ` ${command.details}` : ''}`,
    '',
  ];
  lines.push('```sh', `imago ${usageLine(path, command)}`, '```', '');
  const rows = [
    ...(command.args ?? []).map((arg) => `| \`${arg.name}\` | ${arg.what} |`),
    ...Object.entries(command.flags ?? {}).map(flagRow),
  ];
  if (rows.length > 0) lines.push('| | |', '|---|---|', ...rows, '');
  for (const [example, what] of command.examples) lines.push(`- ${what}: \`${example}\``);
  lines.push('');
  return lines;
}

function flagRow([name, spec]: readonly [string, FlagSpec]): string {
  const short = spec.short === undefined ? '' : `\`-${spec.short}\`, `;
  const value = spec.value === undefined ? '' : ` ${spec.value}`;
  const choices =
    spec.choices === undefined ? '' : ` (${spec.choices.map((choice) => `\`${choice}\``).join(', ')})`;
  return `| ${short}\`--${name}${value}\` | ${spec.what}${choices}${spec.required ? '; needed' : ''} |`;
}
