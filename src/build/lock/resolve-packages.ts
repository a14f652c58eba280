// The Debian packages of a recipe with everything that they depend on, each with its sha256 from the signed index.
import type { LockedInput, PackageSet } from '../../domain/lock/lock.ts';
import { type Recipe, sourceOf } from '../../domain/recipe/recipe.ts';
import { type AptWorkspace, essentialPackages } from '../debian/apt-workspace.ts';
import { neededPackages } from '../debian/needed-packages.ts';
import type { PackageRecord } from '../debian/package-record.ts';
import { solvePackages, type WantedPackage } from '../debian/solve-packages.ts';
import { splitPackages } from '../debian/split-packages.ts';
import { nodePackages, toolPackages } from './rules.ts';

/**
 * The recipe must be expanded. Takes the newest of everything, except for what `apt` is configured to prefer. What the build runs
 * itself comes from `toolsApt`.
 */
export async function solveAll(
  apt: AptWorkspace,
  recipe: Recipe,
  toolsApt = apt,
): Promise<readonly LockedInput[]> {
  const essential = await solvePackages(apt, [{ name: essentialPackages }], []);
  const wantedBase = [
    ...nodePackages(recipe.architecture).map((name) => ({ name })),
    ...(recipe.base?.packages ?? []),
  ];
  const base = await solvePackages(apt, distinct(wantedBase), essential);
  const wanted = wantedPackages(recipe);
  const packages = await solvePackages(apt, wanted, [...essential, ...base]);
  const layers = splitPackages(
    wanted.map(({ name }) => name),
    packages,
  );
  const tools = await solvePackages(
    toolsApt,
    toolPackages.map((name) => ({ name })),
    [],
  );
  const inputs = mergeSets([
    [['essential', 'base'], essential],
    [['base'], base],
    [['packages'], packages],
    [['tools'], tools],
  ]);
  const hidden = hiddenPackages(recipe, wanted, packages);
  return inputs.map((input) => {
    const layer = input.sets?.includes('packages') === true ? layers.get(input.name) : undefined;
    return {
      ...input,
      ...(layer !== undefined && { layer }),
      ...(hidden.has(input.name) && { private: true as const }),
    };
  });
}

/** The packages that private components are. */
export function privatePackages(recipe: Recipe): readonly string[] {
  return recipe.components.flatMap((component) => {
    const source = sourceOf(component);
    return component.private === true && 'package' in source ? [source.package] : [];
  });
}

/** With those that only come along with them, and would tell which they are. What the base has is everybody's. */
function hiddenPackages(
  recipe: Recipe,
  wanted: readonly WantedPackage[],
  packages: readonly PackageRecord[],
): ReadonlySet<string> {
  const hidden = new Set(privatePackages(recipe));
  if (hidden.size === 0) return hidden;
  const open = wanted.map(({ name }) => name).filter((name) => !hidden.has(name));
  const shown = neededPackages(open, packages, hidden);
  for (const { name } of packages) if (!shown.has(name)) hidden.add(name);
  return hidden;
}

/** What the recipe asks for by name, above the base system. */
export function wantedPackages(recipe: Recipe): readonly WantedPackage[] {
  const components = recipe.components.flatMap((component) => {
    const source = sourceOf(component);
    return 'package' in source ? [{ name: source.package, version: component.version }] : [];
  });
  const { servers, zone } = recipe.settings.time ?? {};
  const clock = [
    ...(servers === undefined ? [] : [{ name: 'systemd-timesyncd' }]),
    ...(zone === undefined ? [] : [{ name: 'tzdata' }]),
  ];
  return distinct([...(recipe.packages ?? []), ...components, ...clock]);
}

/** Each name once; a version that is given anywhere counts. */
function distinct(wanted: readonly WantedPackage[]): readonly WantedPackage[] {
  const byName = new Map<string, WantedPackage>();
  for (const item of wanted) {
    const known = byName.get(item.name);
    if (known?.version === undefined) byName.set(item.name, item);
  }
  return [...byName.values()];
}

function mergeSets(
  solved: readonly (readonly [readonly PackageSet[], readonly PackageRecord[]])[],
): readonly LockedInput[] {
  const inputs = new Map<string, LockedInput>();
  for (const [sets, records] of solved) {
    for (const record of records) {
      const key = `${record.name} ${record.version} ${record.sha256}`;
      const known = inputs.get(key);
      inputs.set(key, { ...(known ?? lockedPackage(record, [])), sets: [...(known?.sets ?? []), ...sets] });
    }
  }
  return [...inputs.values()];
}

export function lockedPackage(record: PackageRecord, sets: readonly PackageSet[]): LockedInput {
  const security = record.path.startsWith('pool/updates/');
  return {
    kind: 'package',
    name: record.name,
    version: record.version,
    sha256: record.sha256,
    sizeBytes: record.sizeBytes,
    source: `${security ? 'debian-security' : 'debian'}:${record.path}`,
    sets,
    installedBytes: record.installedBytes,
  };
}
