// One text for one value, whatever the order of its keys (RFC 8785): what digests of locks are computed over.
// Whatever JSON would drop or bend silently is refused, so that two different values never share a text.
import { ImagoError } from '../error/imago-error.ts';
import type { Json } from './json.ts';

/** A property that is `undefined` counts as absent, as in JSON. */
export function canonicalJson(value: Json): string {
  return write(value, []);
}

function write(value: unknown, path: readonly (string | number)[]): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return writeText(value, path);
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return JSON.stringify(value);
    throw refuse(path, `${value} has no form in JSON`);
  }
  if (path.length > maxDepth) throw refuse(path.slice(0, 5), 'it is nested too deeply, or contains itself');
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, [...path, index])).join(',')}]`;
  }
  if (!isPlainObject(value)) throw refuse(path, `it is ${describe(value)}`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${writeText(key, path)}:${write(member, [...path, key])}`);
  return `{${members.join(',')}}`;
}

const maxDepth = 200;

function writeText(text: string, path: readonly (string | number)[]): string {
  if (text.isWellFormed()) return JSON.stringify(text);
  throw refuse(path, 'its text has half of a surrogate pair');
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `of type ${typeof value}`;
  return `a ${value.constructor.name}`;
}

function refuse(path: readonly (string | number)[], why: string): ImagoError {
  const where = path.length === 0 ? 'The value' : `The value at ${path.join('.')}`;
  return new ImagoError('input-invalid', `${where} cannot be written as JSON: ${why}.`);
}
