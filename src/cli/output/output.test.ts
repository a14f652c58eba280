import { describe, expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { createOutput, type Format } from './output.ts';

function capture(
  format: Format,
  options: { tty?: boolean; quiet?: boolean; env?: Record<string, string> } = {},
) {
  const written = { out: '', err: '' };
  const output = createOutput(format, options.quiet ?? false, {
    out: { write: (text: string) => (written.out += text), isTTY: options.tty },
    err: { write: (text: string) => (written.err += text), isTTY: options.tty },
    env: options.env ?? {},
  });
  return { output, written };
}

const page = {
  items: [
    { name: 'web', nodes: 3 },
    { name: 'a-longer-name', nodes: 10 },
  ],
  next: 'abc',
};
const columns = { name: (item: (typeof page.items)[number]) => item.name, nodes: () => undefined };

describe('lists', () => {
  test('a table is aligned, and says how to go on', () => {
    const { output, written } = capture('table');
    output.list(page, (item) => item.name, columns);
    expect(written.out).toBe('NAME           NODES\nweb            -\na-longer-name  -\n');
    expect(written.err).toBe('More: --cursor abc\n');
  });

  test('JSON is one document with items and next', () => {
    const { output, written } = capture('json');
    output.list(page, (item) => item.name, columns);
    expect(JSON.parse(written.out)).toEqual(page);
    expect(written.err).toBe('');
  });

  test('prints only names, for pipes', () => {
    const { output, written } = capture('name');
    output.list(page, (item) => item.name, columns);
    expect(written.out).toBe('web\na-longer-name\n');
  });

  test('prints a note for an empty table, and an empty JSON document', () => {
    const people = capture('table');
    people.output.list({ items: [] }, String, {});
    expect(people.written).toEqual({ out: '', err: 'No results.\n' });
    const program = capture('json');
    program.output.list({ items: [] }, String, {});
    expect(JSON.parse(program.written.out)).toEqual({ items: [], next: null });
  });
});

describe('errors', () => {
  const error = new ImagoError('pool-not-found', 'There is no pool web.', { hint: 'See `imago pool list`.' });

  test('people get a sentence and a hint on standard error', () => {
    const { output, written } = capture('table');
    output.error(error);
    expect(written).toEqual({ out: '', err: 'error: There is no pool web.\nhint: See `imago pool list`.\n' });
  });

  test('programs get one document on standard output', () => {
    const { output, written } = capture('json');
    output.error(error);
    expect(JSON.parse(written.out)).toEqual({
      error: { code: 'pool-not-found', message: 'There is no pool web.', hint: 'See `imago pool list`.' },
    });
  });
});

describe('an error of many things', () => {
  const problems = [
    { file: 'imago.yaml', line: 2, column: 1, path: 'a', message: 'there is no field a', hint: 'b?' },
    { path: 'why', message: 'is missing' },
  ];
  const missing = Array.from({ length: 25 }, (_, index) => `The package p${index} is gone`);

  test('is printed line by line, up to twenty', () => {
    const { output, written } = capture('table');
    output.error(new ImagoError('recipe-invalid', 'a is wrong (and 1 more)', { details: { problems } }));
    expect(written.err).toContain('\n  imago.yaml:2:1: there is no field a (b?)\n  why: is missing\n');
    output.error(new ImagoError('input-missing', 'p0 is gone', { details: { missing } }));
    expect(written.err).toContain('  The package p19 is gone\n  and 5 more\n');
    expect(written.err).not.toContain('p20');
  });

  test('is complete in JSON', () => {
    const { output, written } = capture('json');
    output.error(new ImagoError('input-missing', 'p0 is gone', { details: { missing } }));
    expect(JSON.parse(written.out)).toMatchObject({ error: { details: { missing } } });
  });

  test('says nothing twice when it is one', () => {
    const { output, written } = capture('table');
    output.error(new ImagoError('input-missing', 'p0 is gone', { details: { missing: ['p0 is gone'] } }));
    expect(written.err.match(/p0/g)).toHaveLength(1);
  });
});

describe('colours', () => {
  test.each([
    ['a terminal', { tty: true }, true],
    ['a pipe', { tty: false }, false],
    ['NO_COLOR', { tty: true, env: { NO_COLOR: '1' } }, false],
    ['a dumb terminal', { tty: true, env: { TERM: 'dumb' } }, false],
  ])('%s', (_what, options, coloured) => {
    expect(capture('table', options).output.style.red('x') !== 'x').toBe(coloured);
  });
});

test('quiet prints results and nothing else', () => {
  const { output, written } = capture('table', { quiet: true });
  output.note('by the way');
  output.list({ items: [] }, String, {});
  output.thing({ a: 1 }, 'a', () => ['a 1']);
  expect(written).toEqual({ out: 'a 1\n', err: '' });
});
