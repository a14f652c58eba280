// Checks a value against a field and all below it, with the path of everything that is wrong.
import { quote } from '../value/quote.ts';
import { didYouMean, orList } from '../value/suggest.ts';
import { kindOf, type SecretRule, wrongValue } from './check-value.ts';
import type { Field, ListField, MapField, ObjectField } from './field.ts';
import type { ConfigProblem, FieldPath } from './problem.ts';

export interface CheckRules {
  /**
   * What people write is refused when a field is unknown. A node passes over it: the config may be newer than the
   * node's image, and what it cannot do without stands in `requires`.
   */
  readonly unknown: 'refuse' | 'ignore';
  /** `named`: only as `secret:NAME`, as in what is stored; `plain`: only itself, as a node needs it. */
  readonly secrets: SecretRule;
}

export interface Findings {
  readonly problems: readonly ConfigProblem[];
  /** Fields that were passed over. */
  readonly ignored: readonly FieldPath[];
}

export function checkField(field: Field, value: unknown, rules: CheckRules): Findings {
  const check: Check = { rules, problems: [], ignored: [] };
  checkAt(check, field, value, []);
  return check;
}

interface Check {
  readonly rules: CheckRules;
  readonly problems: ConfigProblem[];
  readonly ignored: FieldPath[];
}

function checkAt(check: Check, field: Field, value: unknown, path: FieldPath): void {
  switch (field.type) {
    case 'any':
      break;
    case 'list':
      if (Array.isArray(value)) checkList(check, field, value, path);
      else say(check, path, `must be a list, and is ${kindOf(value)}`);
      break;
    case 'map':
      if (isObject(value)) checkMap(check, field, value, path);
      else say(check, path, `must be a map, and is ${kindOf(value)}`);
      break;
    case 'object':
      if (isObject(value)) checkObject(check, field, value, path);
      else say(check, path, `must be an object, and is ${kindOf(value)}`);
      break;
    default: {
      const wrong = wrongValue(field, value, check.rules.secrets);
      if (wrong !== undefined) check.problems.push({ path, ...wrong });
    }
  }
}

function say(check: Check, path: FieldPath, message: string, hint?: string): void {
  check.problems.push({ path, message, ...(hint === undefined ? {} : { hint }) });
}

function checkList(check: Check, field: ListField, items: readonly unknown[], path: FieldPath): void {
  if (items.length > field.maxItems) {
    say(check, path, `has ${items.length} items, and ${field.maxItems} are allowed`);
    return;
  }
  if (items.length < (field.minItems ?? 0)) say(check, path, 'is empty, and needs at least one item');
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const before = check.problems.length;
    checkAt(check, field.items, item, [...path, index]);
    const identity = check.problems.length > before ? undefined : identityOf(field, item);
    if (identity === undefined) continue;
    if (seen.has(identity)) say(check, [...path, index], `repeats ${quote(identity)}`);
    seen.add(identity);
  }
}

/** What tells an item of a list apart from the others; `undefined` when the item has no such thing. */
export function identityOf({ key }: ListField, item: unknown): string | undefined {
  if (key === undefined) return typeof item === 'string' ? item : undefined;
  return isObject(item) ? key.map((name) => String(item[name])).join(':') : undefined;
}

function checkMap(check: Check, field: MapField, map: PlainObject, path: FieldPath): void {
  const entries = Object.entries(map);
  if (entries.length > field.maxItems) {
    say(check, path, `has ${entries.length} entries, and ${field.maxItems} are allowed`);
    return;
  }
  const form = new RegExp(field.keys.pattern);
  for (const [key, item] of entries) {
    const at = [...path, key];
    if (form.test(key)) checkAt(check, field.values, item, at);
    else say(check, at, `has a name that is not ${field.keys.says}`, field.keys.hint);
  }
}

function checkObject(check: Check, field: ObjectField, object: PlainObject, path: FieldPath): void {
  for (const [key, item] of Object.entries(object)) {
    const at = [...path, key];
    const found = Object.hasOwn(field.fields, key) ? field.fields[key] : undefined;
    if (found !== undefined) checkAt(check, found, item, at);
    else if (check.rules.unknown === 'ignore') check.ignored.push(at);
    else {
      const hint =
        didYouMean(key, Object.keys(field.fields)) ?? 'See `imago node config explain` for every field.';
      say(check, at, 'is not a field of the node config', hint);
    }
  }
  for (const [key, { required }] of Object.entries(field.fields)) {
    if (required === true && !Object.hasOwn(object, key)) say(check, [...path, key], 'is missing');
  }
  if (field.oneOf === undefined) return;
  const given = field.oneOf.filter((name) => Object.hasOwn(object, name));
  if (given.length === 1) return;
  const has = given.length === 0 ? 'none' : given.join(' and ');
  say(check, path, `has ${has}, and needs exactly one of ${orList(field.oneOf)}`);
}

type PlainObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
