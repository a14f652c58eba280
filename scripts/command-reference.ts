// docs/commands.md: every command with its flags and examples, from the same data as --help.

import { commandTree } from '../src/cli/command-tree.ts';
import {
  type CommandEntry,
  type CommandSpec,
  type FlagSpec,
  isGroup,
  loadCommand,
} from '../src/cli/spec/command.ts';
import { flagText, usageLine } from '../src/cli/spec/help.ts';

export async function commandReference(): Promise<string> {
  const parts = [
    '# Commands',
    '',
    'Every command takes `-o table|wide|json|yaml|name` (`--json` is `-o json`: one document on standard output), `--quiet`, `--context`, `--timeout`, and `--help`, and `--dry-run` if it writes. Lists are `{"items": […], "next": …}`: everything if standard output is not a terminal, unless `--limit` or `--cursor` is given. With `--watch`, a list keeps running and prints what changes. Errors are `{"error": {"code", "message", "hint"}}`.',
    '',
    'Exit codes: 0 success, 1 failed operation, 2 wrong usage or input, 3 not found, 4 refused (policy or conflict), 5 provider, quota or timeout, 70 internal error, 130 cancelled.',
    '',
  ];
  return `${[...parts, ...(await describe(commandTree, ''))].join('\n').trimEnd()}\n`;
}

async function describe(entry: CommandEntry, path: string): Promise<readonly string[]> {
  const command = await loadCommand(entry);
  if (!isGroup(command)) return describeCommand(command, path);
  const parts: string[] = [];
  for (const [name, child] of Object.entries(command.commands)) {
    parts.push(...(await describe(child, path === '' ? name : `${path} ${name}`)));
  }
  return parts;
}

function describeCommand(command: CommandSpec, path: string): readonly string[] {
  const rows = [
    ...(command.args ?? []).map((arg) => `| \`${arg.name}\` | ${arg.description} |`),
    ...Object.entries(command.flags ?? {}).map(flagRow),
  ];
  return [
    `## imago ${path}`,
    '',
    `${command.summary}.${command.details ? ` ${command.details}` : ''}`,
    '',
    ...['```sh', `imago ${usageLine(path, command)}`, '```', ''],
    ...(rows.length === 0 ? [] : ['| | |', '|---|---|', ...rows, '']),
    ...command.examples.map(([example, caption]) => `- ${caption}: \`${example}\``),
    '',
  ];
}

function flagRow([name, spec]: readonly [string, FlagSpec]): string {
  const short = spec.short === undefined ? '' : `\`-${spec.short}\`, `;
  const value = spec.value === undefined ? '' : ` ${spec.value}`;
  return `| ${short}\`--${name}${value}\` | ${flagText(spec)} |`;
}
