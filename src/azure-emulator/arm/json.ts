// Reads documents of unknown shape: what a client sends is echoed, and only parts of it are understood.
import { canonicalJson } from '../../domain/value/canonical-json.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Returns the object at the path; empty if there is none. */
export function part(value: unknown, ...path: readonly string[]): Json {
  let found = value;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : {};
}

/** Reads text that travels as base64, such as user data. */
export function decodeText(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('utf8');
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = part(value, ...path.slice(0, -1))[path.at(-1) ?? ''];
  return typeof found === 'string' ? found : undefined;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = part(value, ...path.slice(0, -1))[path.at(-1) ?? ''];
  return Array.isArray(found) ? found : [];
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Azure does not echo empty objects and nulls, except tags. */
export function echo(value: Json): Json {
  const kept = Object.entries(value).filter(
    ([, field]) => field !== null && !(isObject(field) && Object.keys(field).length === 0),
  );
  return Object.fromEntries(kept);
}

/** A field that a PUT sends as null is one that it leaves out. */
export function withoutNulls(value: Json): Json {
  return JSON.parse(JSON.stringify(value, (_, field) => (field === null ? undefined : field))) as Json;
}

/** Applies a PATCH: objects are merged, everything else is replaced. */
export function merge(base: Json, change: Json): Json {
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(change)) {
    const before = merged[name];
    merged[name] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

/** Returns a text that is the same for equal values, whatever the order of their fields. */
export function fingerprint(value: unknown): string {
  return canonicalJson(value as Parameters<typeof canonicalJson>[0]);
}
