import { describe, expect, test } from 'vitest';
import { contractOf, queryOf } from '../api/contract/contract.ts';
import { commandTree } from './command-tree.ts';
import { completeWords } from './completion/complete-words.ts';
import { type CommandEntry, type CommandSpec, commonFlags, isGroup, loadCommand } from './spec/command.ts';
import { helpOf } from './spec/help.ts';

async function leaves(entry: CommandEntry, path = ''): Promise<readonly (readonly [string, CommandSpec])[]> {
  const command = await loadCommand(entry);
  if (!isGroup(command)) return [[path, command]];
  const below = Object.entries(command.commands).map(([name, child]) =>
    leaves(child, path === '' ? name : `${path} ${name}`),
  );
  return (await Promise.all(below)).flat();
}

/** Returns whether a command destroys something. A fault of the simulation can be injected again at will. */
function isDestructive(path: string): boolean {
  return (
    /(?:^| )(?:delete|remove|revoke|untrust|withdraw|rollback|prune)$/.test(path) && !path.startsWith('sim ')
  );
}

const commands = await leaves(commandTree);

test.each(commands.filter(([path]) => isDestructive(path)))(
  'imago %s asks before it destroys, and can preview its plan',
  (_, command) => {
    expect(command.flags).toHaveProperty('yes');
    expect(command.flags).toHaveProperty('dry-run');
  },
);

describe.each(commands)('imago %s', (path, command) => {
  test('has help with a usage line and an example that calls it', async () => {
    expect(await helpOf(path, command)).toContain(`Usage: imago ${path}`);
    expect(command.examples.some(([example]) => example.includes(`imago ${path}`))).toBe(true);
  });

  test('has only flags of its own, and no short flag twice', () => {
    const own = Object.entries(command.flags ?? {});
    expect(own.filter(([name]) => Object.hasOwn(commonFlags, name))).toEqual([]);
    const shorts = [...own, ...Object.entries(commonFlags)].flatMap(([, spec]) => spec.short ?? []);
    expect(new Set(shorts).size).toBe(shorts.length);
  });

  test('sends arguments and flags as fields of its endpoint', () => {
    if (command.endpoint === undefined) return;
    const endpoint = contractOf(command.endpoint);
    const body = endpoint.body === undefined ? {} : (endpoint.body as unknown as { shape: object }).shape;
    const known = Object.keys({ ...endpoint.path?.shape, ...queryOf(endpoint).shape, ...body });
    const args = (command.args ?? []).filter(({ expand }) => expand === undefined);
    const sent = [
      ...args.map(({ name, field }) => field ?? name.toLowerCase()),
      ...Object.entries(command.flags ?? {}).map(
        ([name, { field }]) => field ?? name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
      ),
    ];
    expect(sent.filter((field) => field !== false && !known.includes(field))).toEqual([]);
  });
});

test('the first page lists every command with its summary', async () => {
  const page = await helpOf('', commandTree);
  for (const name of Object.keys(commandTree.commands))
    expect(page).toMatch(new RegExp(`^  ${name} +[A-Z]`, 'm'));
});

describe('completion', () => {
  test.each([
    [['po'], ['policy', 'pool']],
    [
      ['pool', 's'],
      ['show', 'scale', 'set-image', 'set-cluster'],
    ],
    [['pool', 'create', 'web', '--im'], ['--image']],
    [
      ['build', '--bump', ''],
      ['patch', 'minor', 'major'],
    ],
    [['channel', 'promote', 'x', '--to', 'p'], ['production']],
    [['no-such', ''], []],
  ])('%j', async (words, expected) => {
    expect(await completeWords(commandTree, words)).toEqual(expected);
  });
});
