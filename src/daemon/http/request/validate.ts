// Validates input against the schema of the contract. Reports every problem with its path, and for an unknown field the
// nearest known one.
import type * as z from 'zod';
import { fieldsAt } from '../../../document/schema-problems.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';

export interface FieldProblem {
  /** Path such as `components.0.version`; empty for the input itself. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** Returns the validated value. Throws `input-invalid` with all problems in its details. */
export function validate<T extends z.ZodType>(schema: T, value: unknown, whole: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = unknownFirst(parsed.error.issues).flatMap((issue) => fieldProblems(schema, issue));
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const where = first?.path === '' || first === undefined ? whole : `${whole}: ${first.path}`;
  throw new ImagoError('input-invalid', `${where} ${first?.message ?? 'is not valid'}${more}.`, {
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { problems },
  });
}

/** Sorts unknown fields first: a mistyped field is unknown under one name and missing under another. */
function unknownFirst(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const unknown = issues.filter((issue) => issue.code === 'unrecognized_keys');
  return [...unknown, ...issues.filter((issue) => issue.code !== 'unrecognized_keys')];
}

function fieldProblems(schema: z.ZodType, issue: z.core.$ZodIssue): readonly FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, issue.path);
    return issue.keys.map((key) => ({
      path: [...issue.path, key].join('.'),
      message: 'is not known',
      hint: didYouMean(key, known) ?? `Known are: ${known.join(', ') || 'none'}.`,
    }));
  }
  return [{ path: issue.path.join('.'), message: describe(issue) }];
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    const missing = issue.message.endsWith('received undefined');
    return missing ? 'is missing' : `must be ${article(issue.expected)}`;
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small' && issue.minimum === 1 && unit(issue.origin) !== '')
    return 'must not be empty';
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}${unit(issue.origin)}`;
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}${unit(issue.origin)}`;
  if (issue.code === 'invalid_format') return `does not have the form ${issue.format}`;
  return `is not valid: ${issue.message}`;
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' ? ' items long' : '';
}

function article(type: string): string {
  const name = type === 'int' ? 'whole number' : type;
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}
