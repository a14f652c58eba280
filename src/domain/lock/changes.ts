// What moved between two locks: the inputs by name, and every value of the recipe. Both `why-rebuild` and the
// reason for a new version are told from it.
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import type { InputKind, Lock, LockedInput } from './lock.ts';

export interface InputChange {
  readonly kind: InputKind;
  readonly name: string;
  /** What was there; absent when it is new. Several when versions stand side by side. */
  readonly before?: readonly LockedInput[];
  readonly after?: readonly LockedInput[];
}

export interface ValueChange {
  /** Keys and indices; named things of a list by their name. */
  readonly path: readonly string[];
  readonly before?: Json;
  readonly after?: Json;
}

/** In the order of the inputs of both locks; the same content at another source counts, the index that lists it does not. */
export function inputChanges(before: Lock, after: Lock): readonly InputChange[] {
  const [old, young] = [group(before.inputs), group(after.inputs)];
  const keys = [...new Set([...old.keys(), ...young.keys()])].sort();
  return keys.flatMap((key) => {
    const [was, is] = [old.get(key), young.get(key)];
    const [some] = is ?? was ?? [];
    if (some === undefined || canonicalJson(asJson(was)) === canonicalJson(asJson(is))) return [];
    return [{ kind: some.kind, name: some.name, ...(was && { before: was }), ...(is && { after: is }) }];
  });
}

function group(inputs: readonly LockedInput[]): ReadonlyMap<string, readonly LockedInput[]> {
  const groups = new Map<string, LockedInput[]>();
  for (const input of inputs) {
    if (input.kind === 'index') continue;
    const key = `${input.kind} ${input.name}`;
    groups.set(key, [...(groups.get(key) ?? []), input]);
  }
  return groups;
}

function asJson(value: unknown): Json {
  return (value ?? null) as Json;
}

/** Every leaf that differs. Lists of named things are compared by name, so that moving one is one change. */
export function valueChanges(
  before: Json | undefined,
  after: Json | undefined,
  path: readonly string[] = [],
): readonly ValueChange[] {
  if (before === undefined || after === undefined) {
    return before === after
      ? []
      : [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
  }
  if (canonicalJson(before) === canonicalJson(after)) return [];
  const [old, young] = [members(before), members(after)];
  if (old === undefined || young === undefined) return [{ path, before, after }];
  const keys = [...new Set([...old.keys(), ...young.keys()])];
  const changes = keys.flatMap((key) => valueChanges(old.get(key), young.get(key), [...path, key]));
  return changes.length > 0
    ? changes
    : [{ path: [...path, 'order'], before: [...old.keys()], after: [...young.keys()] }];
}

/** The parts of a map, or of a list whose items all have names of their own; `undefined` for a plain value. */
function members(value: Json): ReadonlyMap<string, Json | undefined> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const named = value.map((item: Json) => [nameOf(item), item] as const);
  const names = new Set(named.map(([name]) => name));
  if (names.has(undefined) || names.size < named.length) return undefined;
  return new Map(named.flatMap(([name, item]) => (name === undefined ? [] : [[name, item] as const])));
}

function nameOf(item: Json): string | undefined {
  if (typeof item === 'string') return item;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return undefined;
  const named = item as Readonly<Record<string, Json | undefined>>;
  const name = named.name ?? named.path ?? named.kb;
  return typeof name === 'string' ? name : undefined;
}
