// Lays one recipe over another: maps are merged, lists of named things are merged by name, other values are
// replaced. What the upper one says last, stays.
import type { ListTree, MapTree, Tree } from '../../document/yaml-tree.ts';

/** The fields that identify the items of a list; other items are identified by their own text. */
const identities: Readonly<Record<string, readonly string[]>> = {
  packages: ['name'],
  'base.packages': ['name'],
  components: ['name'],
  'components.config': ['path'],
  images: ['name'],
  steps: ['name'],
  tests: ['name'],
  'expect.ports': [],
  'expect.setuid': [],
  'settings.modules': ['name'],
  'settings.units': ['name'],
  'settings.users': ['name'],
  'settings.files': ['path'],
  'settings.trust': ['name'],
  'settings.kernelArguments': [],
  'windows.features': [],
  'windows.patches': ['kb'],
  'windows.registry': ['path', 'name'],
  'windows.services': ['name'],
};

/** Lists whose items may be written as a bare name. */
const shorthand = new Set(['packages', 'base.packages', 'images', 'settings.modules']);

export function mergeTrees(below: Tree, above: Tree, path = ''): Tree {
  if (below.kind === 'map' && above.kind === 'map') return mergeMaps(below, above, path);
  if (below.kind === 'list' && above.kind === 'list') return mergeLists(below, above, path);
  return above;
}

function mergeMaps(below: MapTree, above: MapTree, path: string): MapTree {
  const entries = new Map(below.entries);
  for (const [key, value] of above.entries) {
    const under = entries.get(key);
    entries.set(
      key,
      under === undefined ? value : mergeTrees(under, value, path === '' ? key : `${path}.${key}`),
    );
  }
  return { kind: 'map', origin: above.origin, entries };
}

function mergeLists(below: ListTree, above: ListTree, path: string): Tree {
  const fields = identities[path];
  if (fields === undefined) return above;
  const items = below.items.map((item) => longhand(item, path));
  for (const given of above.items) {
    const item = longhand(given, path);
    const key = identityOf(item, fields);
    const at = key === undefined ? -1 : items.findIndex((other) => identityOf(other, fields) === key);
    const under = items[at];
    if (under === undefined) items.push(item);
    else if (isRemoval(item)) items.splice(at, 1);
    else items[at] = mergeTrees(under, item, path);
  }
  return { kind: 'list', origin: above.origin, items };
}

function longhand(item: Tree, path: string): Tree {
  if (item.kind !== 'value' || !shorthand.has(path)) return item;
  return { kind: 'map', origin: item.origin, entries: new Map([['name', item]]) };
}

function identityOf(item: Tree, fields: readonly string[]): string | undefined {
  if (fields.length === 0) return item.kind === 'value' ? JSON.stringify(item.value) : undefined;
  if (item.kind !== 'map') return undefined;
  const values = fields.map((field) => item.entries.get(field));
  if (values.some((value) => value?.kind !== 'value')) return undefined;
  return JSON.stringify(values.map((value) => (value?.kind === 'value' ? value.value : null)));
}

function isRemoval(item: Tree): boolean {
  if (item.kind !== 'map') return false;
  const remove = item.entries.get('remove');
  return remove?.kind === 'value' && remove.value === true;
}
