// Completes words: commands, flags, choices, and the names that a running daemon knows.
import type { Client } from '../../api/client/client.ts';
import type { ListEndpoint } from '../../api/contract/types.ts';
import {
  type Command,
  type CommandSpec,
  type Completes,
  commonFlags,
  type FlagSpec,
  type FlagSpecs,
  isGroup,
  loadCommand,
} from '../spec/command.ts';

export async function completeWords(tree: Command, words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1) ?? '';
  let command = tree;
  let index = 0;
  for (; index < words.length - 1 && isGroup(command); index += 1) {
    const next = command.commands[words[index] ?? ''];
    if (next === undefined) return [];
    command = await loadCommand(next);
  }
  if (isGroup(command)) return starting(last, Object.keys(command.commands));
  return completeCommand(command, words.slice(index, -1), last);
}

async function completeCommand(
  command: CommandSpec,
  before: readonly string[],
  last: string,
): Promise<readonly string[]> {
  const flags: FlagSpecs = { ...command.flags, ...commonFlags };
  const open = openFlag(flags, before.at(-1));
  if (open !== undefined) return starting(last, open.choices ?? (await namesOf(open.completes, last)));
  if (last.startsWith('-'))
    return starting(
      last,
      Object.keys(flags).map((name) => `--${name}`),
    );
  const place = positionals(flags, before);
  return starting(last, await namesOf(command.args?.[place]?.completes, last));
}

function openFlag(flags: FlagSpecs, word: string | undefined): FlagSpec | undefined {
  if (word === undefined || !word.startsWith('-')) return undefined;
  const found = Object.entries(flags).find(
    ([name, spec]) => word === `--${name}` || word === `-${spec.short}`,
  )?.[1];
  return found?.value === undefined ? undefined : found;
}

function positionals(flags: FlagSpecs, before: readonly string[]): number {
  return before.filter(
    (word, index) => !word.startsWith('-') && openFlag(flags, before[index - 1]) === undefined,
  ).length;
}

const lists = {
  image: 'listImages',
  pool: 'listPools',
  node: 'listNodes',
  operation: 'listOperations',
} as const satisfies Partial<Record<Completes, ListEndpoint>>;

async function namesOf(what: Completes | undefined, last: string): Promise<readonly string[]> {
  if (what === 'channel') return ['staging', 'production'];
  if (what === undefined || what === 'file') return [];
  const { localContext, readContexts, selectContext } = await import('../../launcher/contexts.ts');
  if (what === 'context') return [localContext, ...Object.keys(readContexts().contexts)];
  selectContext(undefined);
  const { connectIfRunning } = await import('../run/connect.ts');
  const client = await connectIfRunning();
  if (client === undefined) return [];
  try {
    const [image = '', ...tag] = last.split(':');
    if (what === 'image' && tag.length > 0) return await tagsOf(client, image);
    const page = await client.call(lists[what], { query: { limit: 200 } });
    return page.items.map((item) => ('name' in item ? item.name : item.id));
  } finally {
    client.close();
  }
}

/** The channels and versions of an image. */
async function tagsOf(client: Client, image: string): Promise<readonly string[]> {
  const path = { image };
  const [channels, versions] = await Promise.all([
    client.call('listChannels', { path }),
    client.call('listVersions', { path, query: { limit: 200 } }),
  ]);
  const tags = [...channels.items.map(({ name }) => name), ...versions.items.map(({ version }) => version)];
  return tags.map((tag) => `${image}:${tag}`);
}

function starting(prefix: string, all: readonly string[]): readonly string[] {
  return all.filter((candidate) => candidate.startsWith(prefix));
}
