// What changes on a node when its config does: a list that people can read, each with what it costs. Pure: the
// command line shows it before anything is sent, and the agent acts by the same list.
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { quote } from '../value/quote.ts';
import { identityOf, isObject } from './check-field.ts';
import { isHidden } from './check-value.ts';
import { type Cost, costs, type Field, type ListField, type ObjectField } from './field.ts';
import { type FieldPath, writePath } from './problem.ts';
import { type NodeConfig, nodeConfigSchema } from './schema.ts';

export interface ConfigChange {
  /** The field's path in the document; an item of a list by what tells it apart. */
  readonly field: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly sentence: string;
  readonly cost: Cost;
}

/** They say something about the document, not about the node. */
const withoutEffect = ['schemaVersion', 'requires'];

/** In the order of the schema. A node without a config has nothing to lose: there, everything is `live`. */
export function planChanges(current: NodeConfig | undefined, wanted: NodeConfig): readonly ConfigChange[] {
  const changes: ConfigChange[] = [];
  for (const [name, field] of Object.entries(nodeConfigSchema.fields)) {
    if (withoutEffect.includes(name)) continue;
    compare(
      { changes, fixed: undefined },
      field,
      [name],
      'live',
      entries(current)[name],
      entries(wanted)[name],
    );
  }
  return current === undefined ? changes.map((change) => ({ ...change, cost: 'live' as const })) : changes;
}

/** The dearest of them; `live` when there is none. */
export function highestCost(changes: readonly Pick<ConfigChange, 'cost'>[]): Cost {
  return changes.reduce<Cost>((most, { cost }) => dearer(most, cost), 'live');
}

function dearer(a: Cost, b: Cost): Cost {
  return costs.indexOf(a) >= costs.indexOf(b) ? a : b;
}

interface Comparison {
  readonly changes: ConfigChange[];
  /** What the author of an entry said that its changes cost. */
  readonly fixed: Cost | undefined;
}

function compare(
  to: Comparison,
  field: Field,
  path: FieldPath,
  inherited: Cost,
  givenBefore: unknown,
  givenAfter: unknown,
): void {
  const before = givenBefore ?? field.default;
  const after = givenAfter ?? field.default;
  if (same(field, before, after)) return;
  const cost = field.cost ?? inherited;
  if (field.type === 'object') {
    if (field.removal !== undefined && before !== undefined && after === undefined) {
      to.changes.push(removed(path, field.removal));
      return;
    }
    compareObject(to, field, path, cost, before, after);
  } else if (field.type === 'map') {
    const keys = new Set([...Object.keys(entries(before)), ...Object.keys(entries(after))]);
    for (const key of [...keys].toSorted()) {
      compare(to, field.values, [...path, key], cost, entries(before)[key], entries(after)[key]);
    }
  } else if (field.type === 'list' && field.key !== undefined) {
    compareItems(to, field, path, cost, items(before), items(after));
  } else {
    to.changes.push(changed(field, path, to.fixed ?? cost, before, after));
  }
}

function compareObject(
  to: Comparison,
  field: ObjectField,
  path: FieldPath,
  cost: Cost,
  before: unknown,
  after: unknown,
): void {
  const fixed = authorsCost(field, before, after) ?? to.fixed;
  for (const [name, one] of Object.entries(field.fields)) {
    if (name === field.costFrom) continue;
    compare({ ...to, fixed }, one, [...path, name], cost, entries(before)[name], entries(after)[name]);
  }
}

/** The dearer of what the entry said before and says now. */
function authorsCost(field: ObjectField, before: unknown, after: unknown): Cost | undefined {
  const from = field.costFrom;
  if (from === undefined) return undefined;
  const usual = field.fields[from]?.default;
  const said = [before, after]
    .filter((one) => one !== undefined)
    .map((one) => costs.find((cost) => cost === (entries(one)[from] ?? usual)) ?? 'live');
  return said.reduce<Cost>(dearer, 'live');
}

function compareItems(
  to: Comparison,
  field: ListField,
  path: FieldPath,
  cost: Cost,
  before: readonly unknown[],
  after: readonly unknown[],
): void {
  const found = new Map(before.map((item) => [identityOf(field, item) ?? '', item]));
  const wanted = new Map(after.map((item) => [identityOf(field, item) ?? '', item]));
  for (const identity of [...new Set([...found.keys(), ...wanted.keys()])].toSorted()) {
    const [old, now] = [found.get(identity), wanted.get(identity)];
    const at = [...path, identity];
    if (old !== undefined && now !== undefined) compare(to, field.items, at, cost, old, now);
    else {
      const own = field.items.type === 'object' ? authorsCost(field.items, old, now) : undefined;
      const what = old === undefined ? added : removed;
      to.changes.push(what(at, own ?? cost));
    }
  }
}

function added(path: FieldPath, cost: Cost): ConfigChange {
  return { field: writePath(path), kind: 'added', sentence: `${writePath(path)} is added`, cost };
}

function removed(path: FieldPath, cost: Cost): ConfigChange {
  return { field: writePath(path), kind: 'removed', sentence: `${writePath(path)} is removed`, cost };
}

function changed(field: Field, path: FieldPath, cost: Cost, before: unknown, after: unknown): ConfigChange {
  const name = writePath(path);
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  const [from, now] = [show(field, before), show(field, after)];
  const values = isShown(field) ? { from: ` from ${from}`, to: ` to ${now}` } : { from: '', to: '' };
  const sentences = {
    added: `${name} is set${values.to}`,
    removed: `${name} is taken away`,
    changed: `${name} changes${values.from}${values.to}`,
  };
  return { field: name, kind, sentence: sentences[kind], cost };
}

function isShown(field: Field): boolean {
  return field.type !== 'any' && !(field.type === 'text' && isHidden(field));
}

const longest = 80;

function show(field: Field, value: unknown): string {
  if (!isShown(field) || value === undefined) return '';
  if (typeof value === 'string') return quote(value);
  const text = canonicalJson(value as Json);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function same(field: Field, a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (field.type === 'scalar') return String(a) === String(b);
  return canonicalJson(a as Json) === canonicalJson(b as Json);
}

function entries(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
