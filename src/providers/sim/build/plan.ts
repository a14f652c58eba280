// What the simulated builder makes of a recipe: a lock with every input resolved, and the layers of a lock with
// keys that follow from their inputs, so that a changed component rebuilds what depends on it and nothing else.

import { sha256 } from '../../../cloud/state/cloud.ts';
import type { Lock, LockedInput } from '../../../domain/lock/lock.ts';
import type { Recipe } from '../../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import type { Json } from '../../../domain/value/json.ts';
import { fraction } from '../world/durations.ts';
import { isObject, textAt, valueAt } from '../world/traits.ts';

export interface Layer {
  readonly name: string;
  /** Of everything that went into it and into the layers below. */
  readonly key: string;
  readonly seconds: number;
}

interface LayerPlan {
  readonly name: string;
  readonly seconds: number;
  readonly inputs: (lock: Json) => Json;
}

/** From the bottom up. The last one takes the whole lock, so no two locks share all their layers. */
const layerPlans: readonly LayerPlan[] = [
  { name: 'base system', seconds: 150, inputs: (lock) => recipeFields(lock, 'os', 'architecture', 'base') },
  { name: 'packages', seconds: 90, inputs: (lock) => inputsOf(lock, 'package') },
  { name: 'components', seconds: 60, inputs: (lock) => inputsOf(lock, 'binary', 'files') },
  { name: 'container images', seconds: 120, inputs: (lock) => inputsOf(lock, 'container-image') },
  { name: 'configuration and agent', seconds: 20, inputs: (lock) => lock },
];

export function layersOf(lock: Json): readonly Layer[] {
  let below = '';
  return layerPlans.map(({ name, seconds, inputs }) => {
    const key = sha256('layer', name, below, canonicalJson(inputs(lock)));
    below = key;
    return { name, key, seconds };
  });
}

function recipeFields(lock: Json, ...fields: readonly string[]): Json {
  return fields.map((field) => valueAt(lock, 'recipe', field) ?? null);
}

function inputsOf(lock: Json, ...kinds: readonly string[]): Json {
  const inputs = valueAt(lock, 'inputs');
  if (!Array.isArray(inputs)) return null;
  return inputs.filter((input: Json) => kinds.some((kind) => kind === valueAt(input, 'kind')));
}

const gibibyte = 2 ** 30;

/** Between 1 and 4 GiB, always the same for one lock. */
export function diskBytesOf(lockDigest: string): number {
  return gibibyte + Math.floor(fraction(lockDigest) * 3 * 1024) * 2 ** 20;
}

/**
 * The recipe with an exact version, sha256 and size for each of its inputs; the same recipe gives the same lock,
 * wherever its folder is. Inputs are only named, never looked for.
 */
export function lockOf(recipe: Json, base?: LockedInput): Lock {
  const inputs = [
    ...(base === undefined ? [] : [{ ...base } as { readonly [key: string]: Json }]),
    ...listAt(recipe, 'packages').map((entry) => resolved('package', entry, versionsOf(entry)[0])),
    ...listAt(recipe, 'components').flatMap((entry) =>
      versionsOf(entry).map((version) => resolved(kindOf(entry), entry, version)),
    ),
    ...listAt(recipe, 'images').map((entry) => resolved('container-image', entry, versionsOf(entry)[0])),
  ];
  inputs.sort((a, b) => (inputKey(a) < inputKey(b) ? -1 : 1));
  const { folder: _, roots: __, sent: ___, ...kept } = isObject(recipe) ? recipe : {};
  return {
    format: 1,
    rules: 1,
    epoch: 0,
    recipe: kept as Recipe,
    inputs: inputs as readonly Json[] as Lock['inputs'],
  };
}

function inputKey({ kind, name, version }: { readonly [key: string]: Json }): string {
  return canonicalJson([kind ?? '', name ?? '', version ?? '']);
}

function listAt(recipe: Json, field: string): readonly Json[] {
  const list = valueAt(recipe, field);
  return Array.isArray(list) ? list : [];
}

/** A package may leave its version open; the simulation then has one of its own. */
function versionsOf(entry: Json): readonly string[] {
  const versions = valueAt(entry, 'versions');
  if (Array.isArray(versions)) return versions.map(String);
  return [textAt(entry, 'version') ?? '1.0.0-sim'];
}

function kindOf(entry: Json): string {
  const given = textAt(entry, 'kind');
  if (given !== undefined) return given;
  const from = valueAt(entry, 'from');
  if (from === undefined || valueAt(from, 'package') !== undefined) return 'package';
  return textAt(from, 'url') !== undefined || textAt(from, 'file') !== undefined ? 'binary' : 'files';
}

function resolved(kind: string, entry: Json, version = ''): { readonly [key: string]: Json } {
  const name = textAt(entry, 'from', 'package') ?? textAt(entry, 'name') ?? canonicalJson(entry);
  const text = canonicalJson([kind, name, version]);
  const given =
    textAt(entry, 'sha256') ?? textAt(entry, 'from', 'sha256') ?? textAt(entry, 'from', 'sha256', version);
  return {
    kind,
    name,
    version,
    sha256: given ?? sha256('input', text),
    sizeBytes: 1 + Math.floor(fraction(text) * 80 * 2 ** 20),
    source: `sim:${kind}/${name}`,
  };
}
