// Reads an operation's recorded input by its schema.
import type * as z from 'zod';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Json } from '../domain/value/json.ts';

export function parseInput<T extends z.ZodType>(schema: T, input: Json): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.') ?? '';
  throw new ImagoError(
    'input-invalid',
    `${where === '' ? 'The input' : where}: ${issue?.message ?? 'is not valid'}`,
  );
}
