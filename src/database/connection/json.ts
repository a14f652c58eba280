// JSON columns are texts on both sides, so that a stored `null` and no value at all stay two things.
import type { Json } from '../../domain/value/json.ts';

export function toJson(value: Json): string {
  return JSON.stringify(value);
}

/** What `toJson` wrote. The caller names the type that it wrote there. */
export function fromJson<T = Json>(text: string): T {
  return JSON.parse(text) as T;
}

/** PostgreSQL's texts hold every character but this one, which programs do print. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{FFFD}').toWellFormed();
}

type Optional<K extends string, V> = { readonly [P in K]?: V };

/** A field that is left out when the column is empty. */
export function optional<K extends string, V>(key: K, value: V | null | undefined): Optional<K, V> {
  return (value === null || value === undefined ? {} : { [key]: value }) as Optional<K, V>;
}

/** As `optional`, for JSON columns: a stored `null` is a value. */
export function optionalJson<K extends string, T>(key: K, text: string | null): Optional<K, T> {
  return (text === null ? {} : { [key]: fromJson<T>(text) }) as Optional<K, T>;
}
