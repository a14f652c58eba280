import { describe, expect, it } from 'vitest';
import type { OperationKind } from '../../ports/workflow/operation.ts';
import { readScript, stepNames } from './recorded-steps.ts';

function kindWith(
  names: readonly string[],
  rest: Partial<OperationKind<unknown>> = {},
): OperationKind<unknown> {
  const steps = names.map((name) => ({ name, do: async () => undefined }));
  return { kind: 'k', parse: (input) => input, plan: async () => [], steps: () => steps, ...rest };
}

function scriptOf(kind: OperationKind<unknown>) {
  return readScript({ kind: 'k', input: null }, new Map([['k', kind]]));
}

describe('steps that were recorded earlier', () => {
  it('are found by name, through one rename after another', () => {
    const script = scriptOf(kindWith(['c'], { renamed: { a: 'b', b: 'c' } }));
    expect(script.nameToday('a')).toBe('c');
    expect(script.find('a')).toMatchObject({ step: { name: 'c' } });
    expect(script.find('c')).toMatchObject({ step: { name: 'c' } });
  });

  it('are skipped if they were removed, under the old name or the new', () => {
    const script = scriptOf(kindWith(['x'], { renamed: { a: 'b' }, removed: ['b', 'old'] }));
    expect(script.find('a')).toEqual({ removed: true });
    expect(script.find('old')).toEqual({ removed: true });
  });

  it('are an error if they are unknown, and circular renames end', () => {
    const script = scriptOf(kindWith(['x'], { renamed: { a: 'b', b: 'a' } }));
    expect(script.find('a')).toMatchObject({ error: { code: 'operation-unknown-step' } });
  });

  it('are an error when the kind is gone or refuses the input that it once took', () => {
    const gone = readScript({ kind: 'gone', input: null }, new Map());
    expect(gone.find('a')).toMatchObject({ error: { code: 'operation-unknown-kind' } });
    const strict = kindWith(['a'], {
      parse: () => {
        throw new Error('stricter now');
      },
    });
    expect(scriptOf(strict).find('a')).toMatchObject({ error: { message: 'stricter now' } });
  });
});

it('a kind with two steps of one name is our bug', () => {
  expect(() => stepNames(kindWith(['a', 'b', 'a']), null)).toThrow('two steps called a');
});
