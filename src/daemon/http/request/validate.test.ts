// Shows that problems of an input are reported by field, with the nearest name for an unknown one.
import { expect, test } from 'vitest';
import * as z from 'zod';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { validate } from './validate.ts';

const schema = z.strictObject({
  capacity: z.int().min(0).max(10),
  mode: z.enum(['uniform', 'flexible']).optional(),
  parts: z.array(z.strictObject({ version: z.string().min(1) })).default([]),
  choice: z
    .union([z.strictObject({ reference: z.string() }), z.strictObject({ image: z.string() })])
    .optional(),
});

function problemsOf(value: unknown): ImagoError {
  try {
    validate(schema, value, 'The body');
  } catch (error) {
    if (error instanceof ImagoError) return error;
  }
  throw new Error('nothing was wrong');
}

test.each([
  [{ capcity: 3 }, 'The body: capcity is not known (and 1 more).'],
  [{}, 'The body: capacity is missing.'],
  [{ capacity: 3, capcity: 3 }, 'The body: capcity is not known.'],
  [{ capacity: '3' }, 'The body: capacity must be a number.'],
  [{ capacity: 1.5 }, 'The body: capacity must be a whole number.'],
  [{ capacity: 11 }, 'The body: capacity must be at most 10.'],
  [{ capacity: 1, mode: 'unifrom' }, 'The body: mode must be one of uniform, flexible.'],
  [{ capacity: 1, parts: [{ version: '' }] }, 'The body: parts.0.version must not be empty.'],
  [[], 'The body must be an object.'],
  [null, 'The body must be an object.'],
])('%j: %s', (value, message) => {
  const error = problemsOf(value);
  expect(error.message).toBe(message);
  expect(error.code).toBe('input-invalid');
});

test('reports an unknown field with the nearest one, at any depth', () => {
  expect(problemsOf({ capacity: 3, capcity: 3 }).hint).toBe('Did you mean `capacity`?');
  expect(problemsOf({ capacity: 3, parts: [{ version: '1', verson: '1' }] })).toMatchObject({
    hint: 'Did you mean `version`?',
    details: { problems: [{ path: 'parts.0.verson', message: 'is not known' }] },
  });
});

test('lists all known fields if none is near', () => {
  expect(problemsOf({ capacity: 3, xyz: 1 }).hint).toBe('Known are: capacity, mode, parts, choice.');
});

test('the names of prototypes are unknown fields like any other', () => {
  const error = problemsOf(JSON.parse('{"capacity": 1, "__proto__": {"admin": true}, "constructor": 1}'));
  expect(error.details).toMatchObject({
    problems: expect.arrayContaining([expect.objectContaining({ path: 'constructor' })]),
  });
});
