import { describe, expect, test } from 'vitest';
import { commandTree } from './command-tree.ts';
import { completeWords } from './completion/complete-words.ts';
import { type CommandNode, commonFlags } from './spec/command.ts';
import { commandHelp, groupHelp } from './spec/help.ts';

function leaves(node: CommandNode, path: readonly string[] = []): [string, CommandNode][] {
  if (node.children === undefined) return [[path.join(' '), node]];
  return node.children.flatMap((child) => leaves(child, [...path, child.name]));
}

/** Says whether a command is named after what it destroys. A fault of the simulation is injected again at will. */
function isDestructive(path: string): boolean {
  return (
    /(?:^| )(?:delete|remove|revoke|forget|withdraw|rollback|prune)$/.test(path) && !path.startsWith('sim ')
  );
}

describe.each(leaves(commandTree))('imago %s', (path, node) => {
  test('its help has a usage line and an example that calls it', async () => {
    const command = (await node.load?.())?.command;
    if (command === undefined) throw new Error('There is no command behind it.');
    const help = commandHelp(path, command);
    expect(help).toContain(`Usage: imago ${path}`);
    expect(command.examples.length).toBeGreaterThan(0);
    expect(command.examples.some(([example]) => example.includes(`imago ${path}`))).toBe(true);
  });

  test('its flags are its own, and no short one stands for two', async () => {
    const command = (await node.load?.())?.command;
    const own = Object.entries(command?.flags ?? {});
    expect(own.filter(([name]) => Object.hasOwn(commonFlags, name))).toEqual([]);
    const shorts = [...own, ...Object.entries(commonFlags)].flatMap(([, spec]) => spec.short ?? []);
    expect(new Set(shorts).size).toBe(shorts.length);
  });

  test.runIf(isDestructive(path))('asks before it destroys, and can show its plan', async () => {
    const flags = (await node.load?.())?.command.flags;
    expect(flags).toHaveProperty('yes');
    expect(flags).toHaveProperty('dry-run');
  });
});

test('the first page lists every command', () => {
  const page = groupHelp('', commandTree);
  for (const child of commandTree.children ?? []) expect(page).toContain(`  ${child.name}`);
});

describe('completion', () => {
  test.each([
    [['po'], ['policy', 'pool']],
    [
      ['pool', 's'],
      ['show', 'scale', 'set-image'],
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
