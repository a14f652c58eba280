// A YAML file as a tree in which every value knows its file, line and column: recipes are put together from
// several files, and mistakes and `recipe show` must say where each value stands.
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { ImagoError } from '../domain/error/imago-error.ts';

export interface Origin {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface MapTree {
  readonly kind: 'map';
  readonly origin: Origin;
  readonly entries: ReadonlyMap<string, Tree>;
}

export interface ListTree {
  readonly kind: 'list';
  readonly origin: Origin;
  readonly items: readonly Tree[];
}

export interface ValueTree {
  readonly kind: 'value';
  readonly origin: Origin;
  readonly value: string | number | boolean | null;
}

/** The origin of a map's entry is that of its key. */
export type Tree = MapTree | ListTree | ValueTree;

/** A recipe that grows beyond this when its aliases are followed is refused. */
const maxNodes = 50_000;
const maxText = 4 * 1024 * 1024;

/** Throws `recipe-syntax` for what is not one YAML document with keys of their own. */
export function parseYamlTree(text: string, file: string): Tree {
  if (text.length > maxText) throw syntax(file, { line: 1, column: 1 }, 'the file is too large for a recipe');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const [broken] = document.errors;
  if (broken !== undefined) throw syntax(file, place(broken.pos[0]), describeBroken(broken, text));
  return treeBuilder(document, file, place)(document.contents);
}

function describeBroken(broken: YAMLError, text: string): string {
  if (broken.code !== 'DUPLICATE_KEY') return broken.message;
  const [key] = text.slice(broken.pos[0]).split(/[:\s]/, 1);
  return `the key ${key} appears twice in one map`;
}

type Place = (offset: number) => { readonly line: number; readonly column: number };

function treeBuilder(document: Document, file: string, place: Place) {
  let nodes = 0;
  const originOf = (node: unknown): Origin => ({
    file,
    ...place((node as Node | null | undefined)?.range?.[0] ?? 0),
  });
  return function build(node: unknown, origin: Origin = originOf(node), depth = 0): Tree {
    nodes += 1;
    if (nodes > maxNodes || depth > 100) {
      throw syntax(file, origin, 'the recipe grows too large when its aliases are followed');
    }
    if (isAlias(node)) return build(node.resolve(document), origin, depth + 1);
    if (isMap(node)) {
      const entries = new Map<string, Tree>();
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : String(key);
        entries.set(name, build(value, originOf(key), depth + 1));
      }
      return { kind: 'map', origin, entries };
    }
    if (isSeq(node)) {
      return { kind: 'list', origin, items: node.items.map((item) => build(item, undefined, depth + 1)) };
    }
    return { kind: 'value', origin, value: scalarValue(node, file, origin) };
  };
}

function scalarValue(node: unknown, file: string, origin: Origin): ValueTree['value'] {
  if (node === null || node === undefined) return null;
  const value = isScalar(node) ? node.value : node;
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw syntax(file, origin, 'a value is neither text, number, true, false nor empty');
}

function syntax(
  file: string,
  { line, column }: Pick<Origin, 'line' | 'column'>,
  message: string,
): ImagoError {
  return new ImagoError('recipe-syntax', `${file}:${line}:${column}: ${message}`, {
    details: { file, line, column },
  });
}

/** The plain value. A map has no prototype's names in it. */
export function toValue(tree: Tree): unknown {
  if (tree.kind === 'value') return tree.value;
  if (tree.kind === 'list') return tree.items.map(toValue);
  return Object.fromEntries([...tree.entries].map(([key, value]) => [key, toValue(value)]));
}

/** The tree at a path, or the nearest one around it. */
export function treeAt(tree: Tree, path: readonly PropertyKey[]): Tree {
  let found = tree;
  for (const key of path) {
    const next =
      found.kind === 'map'
        ? found.entries.get(String(key))
        : found.kind === 'list'
          ? found.items[Number(key)]
          : undefined;
    if (next === undefined) return found;
    found = next;
  }
  return found;
}
