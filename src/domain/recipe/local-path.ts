// Paths in a recipe: they are relative to the recipe's directory, and everything that is not an http address is one.
import { quote } from '../value/quote.ts';

/** The fields of a recipe that can hold a path, wherever they are. `tar` can hold an address as well. */
const pathFields: ReadonlySet<string> = new Set(['file', 'folder', 'layout', 'tar']);

export function isPathField(name: string): boolean {
  return pathFields.has(name);
}

export function isLocal(text: string): boolean {
  return !/^https?:\/\//.test(text);
}

/** Returns what is wrong with a local path, as a clause; `undefined` if it can be looked up. */
export function localPathProblem(path: string): string | undefined {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)) {
    return `${quote(path)} is neither a path nor an http address`;
  }
  return path === '' || /\p{Cc}/u.test(path) ? `${quote(path)} is not a path` : undefined;
}

export interface LocalPath {
  readonly path: string;
  /** Keys and indices from the root of the value. */
  readonly at: readonly (string | number)[];
}

/** Returns the local paths in a recipe, or in anything that contains recipes. */
export function localPaths(value: unknown, at: LocalPath['at'] = []): readonly LocalPath[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const here = [...at, Array.isArray(value) ? Number(key) : key];
    const isPath = pathFields.has(key) && typeof item === 'string' && isLocal(item);
    return isPath ? [{ path: item, at: here }] : localPaths(item, here);
  });
}
