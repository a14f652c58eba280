import { describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CommandSpec } from './command.ts';
import { parseWords } from './parse.ts';

const command: CommandSpec = {
  summary: 'Create a pool',
  args: [
    { name: 'POOL', description: 'its name' },
    { name: 'FILE', description: 'a file', optional: true },
  ],
  flags: {
    image: { description: 'the image', value: 'IMAGE', required: true },
    mode: { description: 'how', value: 'MODE', choices: ['fast', 'safe'] },
    label: { description: 'a label', value: 'KEY=VALUE', repeated: true },
    pin: { description: 'do not follow', short: 'p' },
  },
  examples: [],
  run: async () => undefined,
};

function parse(...words: string[]) {
  return parseWords(command, 'pool create', words);
}

function refusal(...words: string[]): ImagoError {
  try {
    parse(...words);
  } catch (error) {
    if (error instanceof ImagoError) return error;
    throw error;
  }
  throw new Error('The words were accepted.');
}

describe('valid arguments', () => {
  test('accepts flags and arguments in any order', () => {
    const expected = { args: { POOL: 'web' }, rest: [], flags: { image: 'node:1.2.3', pin: true } };
    expect(parse('web', '--image', 'node:1.2.3', '--pin')).toEqual(expected);
    expect(parse('-p', '--image=node:1.2.3', 'web')).toEqual(expected);
  });

  test('accepts a value with an equals sign, a dash, or nothing', () => {
    expect(parse('web', '--image=a=b').flags.image).toBe('a=b');
    expect(parse('web', '--image', '-x').flags.image).toBe('-x');
    expect(parse('web', '--image=').flags.image).toBe('');
  });

  test('collects the values of a repeated flag', () => {
    expect(parse('web', '--image', 'i', '--label', 'a=1', '--label', 'b=2').flags.label).toEqual([
      'a=1',
      'b=2',
    ]);
  });

  test('treats everything after -- as an argument', () => {
    expect(parse('--image', 'i', '--', '--web', '-f').args).toEqual({ POOL: '--web', FILE: '-f' });
  });

  test('lets --help win over missing arguments', () => {
    expect(parse('--help').flags.help).toBe(true);
  });
});

describe('reports invalid arguments with a message and a hint', () => {
  const cases: readonly [string, string[], string, RegExp, RegExp][] = [
    [
      'unknown flag',
      ['web', '--imge', 'i'],
      'usage-unknown-flag',
      /Unknown flag --imge/,
      /Did you mean --image/,
    ],
    ['unknown short flag', ['web', '-z'], 'usage-unknown-flag', /Unknown flag -z/, /--help/],
    ['value missing', ['web', '--image'], 'usage-invalid', /--image needs a value/, /--help/],
    [
      'value on a switch',
      ['web', '--pin=yes', '--image', 'i'],
      'usage-invalid',
      /does not take a value/,
      /--help/,
    ],
    [
      'not one of the choices',
      ['web', '--image', 'i', '--mode', 'quick'],
      'usage-invalid',
      /fast, safe/,
      /--help/,
    ],
    ['argument missing', ['--image', 'i'], 'usage-invalid', /POOL is missing/, /--help/],
    ['required flag missing', ['web'], 'usage-invalid', /--image IMAGE is required/, /--help/],
    ['too many arguments', ['a', 'b', 'c', '--image', 'i'], 'usage-invalid', /"c" is not expected/, /--help/],
    [
      'a name from Object',
      ['web', '--constructor', 'i'],
      'usage-unknown-flag',
      /Unknown flag --constructor/,
      /--help/,
    ],
  ];
  test.each(cases)('%s', (_what, words, code, message, hint) => {
    const error = refusal(...words);
    expect(error.code).toBe(code);
    expect(error.exitCode).toBe(2);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });
});

test('the words after `--` are those of the command that takes them, also if they look like flags', () => {
  const exec: CommandSpec = {
    ...command,
    args: [
      { name: 'NODE', description: 'a node' },
      { name: 'COMMAND', description: 'words', rest: true },
    ],
    flags: {},
  };
  const parsed = parseWords(exec, 'node exec', ['web-0', '--', 'ls', '-l', '--', '--json']);
  expect(parsed).toMatchObject({ args: { NODE: 'web-0' }, rest: ['ls', '-l', '--', '--json'] });
  expect(parsed.flags.json).toBeUndefined();
  expect(() => parseWords(exec, 'node exec', ['web-0'])).toThrow('after `--`');
});
