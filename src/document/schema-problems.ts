// Turns what the schema complains about into sentences, with the place of the value and, for an unknown field,
// the nearest known one.
import * as z from 'zod';
import type { RecipeProblem } from '../domain/recipe/problem.ts';
import { didYouMean } from '../domain/value/suggest.ts';

const notKnown = 'is not known';

type Issue = z.core.$ZodIssue;

/** Unknown fields come first: one that is mistyped is often the one that is missing. */
export function schemaProblems(
  schema: z.ZodType,
  issues: readonly Issue[],
  value: unknown,
): readonly RecipeProblem[] {
  const problems = issues.flatMap((issue) => issueProblems(schema, issue, value, []));
  const isUnknown = ({ message }: RecipeProblem) => message.endsWith(notKnown);
  return [...problems.filter(isUnknown), ...problems.filter((problem) => !isUnknown(problem))];
}

function issueProblems(
  schema: z.ZodType,
  issue: Issue,
  whole: unknown,
  above: readonly PropertyKey[],
): readonly RecipeProblem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, path);
    return issue.keys.map((key) => ({
      path: asPath([...path, key]),
      message: `${[...path, key].join('.')} ${notKnown}`,
      hint: didYouMean(key, known) ?? `Known are: ${known.join(', ') || 'none'}.`,
    }));
  }
  if (issue.code === 'invalid_union') {
    const nested = fittingBranch(issue.errors);
    if (nested !== undefined) return nested.flatMap((inner) => issueProblems(schema, inner, whole, path));
  }
  const name = path.length === 0 ? 'the recipe' : path.join('.');
  const found = valueAt(whole, path);
  const hint = hintFor(issue, found);
  return [
    {
      path: asPath(path),
      message: `${name} ${describeIssue(issue, found)}`,
      ...(hint === undefined ? {} : { hint }),
    },
  ];
}

/** The branch that has the value's type: the one whose complaints go deeper than its type. */
function fittingBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((issues) =>
    issues.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
}

function describeIssue(issue: Issue, found: unknown): string {
  if (found === undefined && issue.code !== 'custom') return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'invalid_union':
      return 'has a form that is not known here';
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_format':
      return `is not ${issue.format === 'url' ? 'an address' : `a ${issue.format}`}`;
    case 'invalid_key':
      return 'has a key that is not allowed';
    default:
      return issue.message;
  }
}

/** `1.34` is a number in YAML and `1.34.2` is not: the most common surprise is reported with its remedy. */
function hintFor(issue: Issue, found: unknown): string | undefined {
  if (issue.code === 'custom') return issue.params?.hint as string | undefined;
  const wantsText = issue.code === 'invalid_type' && issue.expected === 'string';
  if (wantsText && typeof found === 'number') return `Put it in quotes: "${found}".`;
  if (issue.code !== 'invalid_value' || typeof found !== 'string') return undefined;
  return didYouMean(found, issue.values.map(String));
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  object: 'a map',
  record: 'a map',
  array: 'a list',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function article(type: string): string {
  return typeNames[type] ?? `a ${type}`;
}

function asPath(path: readonly PropertyKey[]): RecipeProblem['path'] {
  return path.map((key) => (typeof key === 'symbol' ? String(key) : key));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<PropertyKey, unknown>)[key];
  }
  return found;
}

/** Returns the names of the fields that a schema has at a path. */
export function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let places = unwrap(schema);
  for (const key of path) places = places.flatMap((place) => step(place, key)).flatMap(unwrap);
  return [
    ...new Set(places.flatMap((place) => (place instanceof z.ZodObject ? Object.keys(place.shape) : []))),
  ];
}

function step(schema: z.ZodType, key: PropertyKey): readonly z.ZodType[] {
  if (schema instanceof z.ZodObject) {
    const next: unknown = schema.shape[String(key)];
    return next instanceof z.ZodType ? [next] : [];
  }
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  return schema instanceof z.ZodRecord ? [schema.valueType as z.ZodType] : [];
}

/** Through what only wraps (optional, default, …), and into each branch of a union. */
function unwrap(schema: z.ZodType): readonly z.ZodType[] {
  const isWrapper = [z.ZodOptional, z.ZodNullable, z.ZodDefault, z.ZodPrefault].some(
    (kind) => schema instanceof kind,
  );
  if (isWrapper) return unwrap((schema as z.ZodOptional).unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.ZodType);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => unwrap(option as z.ZodType));
  return [schema];
}
