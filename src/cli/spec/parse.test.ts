import { describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CommandSpec } from './command.ts';
import { parseWords } from './parse.ts';

const command: CommandSpec = {
  summary: 'Make a pool',
  args: [
    { name: 'POOL', what: 'its name' },
    { name: 'FILE', what: 'a file', optional: true },
  ],
  flags: {
    image: { what: 'the image', value: 'IMAGE', required: true },
    mode: { what: 'how', value: 'MODE', choices: ['fast', 'safe'] },
    label: { what: 'a label', value: 'KEY=VALUE', repeated: true },
    pin: { what: 'do not follow', short: 'p' },
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

describe('words that fit', () => {
  test('flags and arguments may stand in any order', () => {
    const expected = { args: { POOL: 'web' }, flags: { image: 'node:1.2.3', pin: true } };
    expect(parse('web', '--image', 'node:1.2.3', '--pin')).toEqual(expected);
    expect(parse('-p', '--image=node:1.2.3', 'web')).toEqual(expected);
  });

  test('a value may hold an equals sign, a dash or nothing', () => {
    expect(parse('web', '--image=a=b').flags.image).toBe('a=b');
    expect(parse('web', '--image', '-x').flags.image).toBe('-x');
    expect(parse('web', '--image=').flags.image).toBe('');
  });

  test('a repeated flag keeps all its values', () => {
    expect(parse('web', '--image', 'i', '--label', 'a=1', '--label', 'b=2').flags.label).toEqual([
      'a=1',
      'b=2',
    ]);
  });

  test('after -- everything is an argument', () => {
    expect(parse('--image', 'i', '--', '--web', '-f').args).toEqual({ POOL: '--web', FILE: '-f' });
  });

  test('--help wins over what is missing', () => {
    expect(parse('--help').flags.help).toBe(true);
  });
});

describe('words that do not fit: one sentence and a hint', () => {
  const cases: readonly [string, string[], string, RegExp, RegExp][] = [
    ['unknown flag', ['web', '--imge', 'i'], 'usage-unknown-flag', /no flag --imge/, /Did you mean --image/],
    ['unknown short flag', ['web', '-z'], 'usage-unknown-flag', /no flag -z/, /--help/],
    ['value missing', ['web', '--image'], 'usage-invalid', /--image needs a value/, /--help/],
    ['value on a switch', ['web', '--pin=yes', '--image', 'i'], 'usage-invalid', /takes no value/, /--help/],
    [
      'not one of the choices',
      ['web', '--image', 'i', '--mode', 'quick'],
      'usage-invalid',
      /fast, safe/,
      /--help/,
    ],
    ['argument missing', ['--image', 'i'], 'usage-invalid', /POOL is missing/, /--help/],
    ['needed flag missing', ['web'], 'usage-invalid', /--image IMAGE is needed/, /--help/],
    [
      'one argument too many',
      ['a', 'b', 'c', '--image', 'i'],
      'usage-invalid',
      /"c" is one argument too many/,
      /--help/,
    ],
    [
      'a name from Object',
      ['web', '--constructor', 'i'],
      'usage-unknown-flag',
      /no flag --constructor/,
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
