// Splits the node's packages into layers in the order of the recipe: each name with what only it and later ones
// need. A package that is added at the end leaves the layers before it as they are.
import { packageNeeds } from './needed-packages.ts';
import type { PackageRecord } from './package-record.ts';

/** The number of names that have a layer each; the rest share layers in groups of this size. */
const ownLayers = 8;

/** The number of the layer of each package. */
export function splitPackages(
  names: readonly string[],
  packages: readonly PackageRecord[],
): ReadonlyMap<string, number> {
  const needs = packageNeeds(packages);
  const known = new Set(packages.map(({ name }) => name));
  const layers = new Map<string, number>();
  const used: number[] = [];
  for (const [index, name] of names.entries()) {
    const wanted = groupOf(index);
    const before = layers.size;
    const number = used.includes(wanted) ? used.indexOf(wanted) : used.length;
    place(name, number, known, needs, layers);
    if (layers.size > before && !used.includes(wanted)) used.push(wanted);
  }
  const rest = packages.filter((record) => !layers.has(record.name));
  for (const record of rest) layers.set(record.name, Math.max(0, used.length - 1));
  return layers;
}

function groupOf(index: number): number {
  return index < ownLayers ? index : ownLayers + Math.floor((index - ownLayers) / ownLayers);
}

function place(
  name: string,
  number: number,
  known: ReadonlySet<string>,
  needs: (name: string) => readonly string[],
  layers: Map<string, number>,
): void {
  if (!known.has(name) || layers.has(name)) return;
  layers.set(name, number);
  for (const needed of needs(name)) place(needed, number, known, needs, layers);
}
