// What the simulated builder makes of a recipe: a lock with every input resolved, and the layers of a lock with
// keys that follow from their inputs, so that a changed component rebuilds what stands on it and nothing else.
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Json } from '../../domain/json.ts';
import type { LockedInput } from '../../domain/lock.ts';
import { type ComponentKind, componentKinds } from '../../domain/recipe.ts';
import { fraction } from './durations.ts';
import { sha256 } from './sim-context.ts';
import { textAt, valueAt } from './traits.ts';

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

function inputsOf(lock: Json, ...kinds: readonly ComponentKind[]): Json {
  const inputs = valueAt(lock, 'inputs');
  if (!Array.isArray(inputs)) return null;
  return inputs.filter((input: Json) => kinds.some((kind) => kind === valueAt(input, 'kind')));
}

const gibibyte = 2 ** 30;

/** Between 1 and 4 GiB, always the same for one lock. */
export function diskBytesOf(lockDigest: string): number {
  return gibibyte + Math.floor(fraction(lockDigest) * 3 * 1024) * 2 ** 20;
}

/** The recipe with an exact version, sha256 and size for each of its inputs; the same recipe, the same lock. */
export function lockOf(recipe: Json): Json {
  const written = valueAt(recipe, 'components');
  const inputs = (Array.isArray(written) ? written : [])
    .map(resolved)
    .sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  return { format: 1, recipe, inputs };
}

function resolved(component: Json): LockedInput & { readonly [key: string]: Json } {
  const kind = componentKinds.find((known) => known === textAt(component, 'kind')) ?? 'package';
  const name = textAt(component, 'name') ?? '';
  const version = textAt(component, 'version') ?? '';
  const text = canonicalJson([kind, name, version]);
  return {
    kind,
    name,
    version,
    sha256: textAt(component, 'sha256') ?? sha256('input', text),
    sizeBytes: 1 + Math.floor(fraction(text) * 80 * 2 ** 20),
    source: textAt(component, 'source') ?? `sim:${kind}/${name}`,
  };
}
