// Who needs whom among packages that were solved together.
import type { AptWorkspace } from './apt-workspace.ts';
import { isPackageName } from './compare-archive.ts';
import type { PackageRecord } from './package-record.ts';
import { archivedVersions, describePackages } from './solve-packages.ts';

/** The names of the packages that each one depends on, every alternative that is among them included. */
export function packageNeeds(packages: readonly PackageRecord[]): (name: string) => readonly string[] {
  const providers = new Map<string, string[]>();
  for (const { name, provides } of packages) {
    for (const provided of [name, ...provides])
      providers.set(provided, [...(providers.get(provided) ?? []), name]);
  }
  const byName = new Map(packages.map((record) => [record.name, record]));
  return (name) =>
    byName.get(name)?.depends.flatMap((clause) => clause.flatMap((one) => providers.get(one) ?? [])) ?? [];
}

/** Those of `packages` that `names` are and need. The ways through `closed` are not taken. */
export function neededPackages(
  names: readonly string[],
  packages: readonly PackageRecord[],
  closed: ReadonlySet<string>,
): ReadonlySet<string> {
  const needs = packageNeeds(packages);
  const known = new Set(packages.map(({ name }) => name));
  const needed = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (!known.has(name) || closed.has(name) || needed.has(name)) continue;
    needed.add(name);
    open.push(...needs(name));
  }
  return needed;
}

/**
 * Those of the names that no other one needs: to name them is enough. Names that the archive does not have are among
 * them.
 */
export async function independentPackages(
  apt: AptWorkspace,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const versions = await archivedVersions(apt, names.filter(isPackageName));
  const newest = [...versions].flatMap(([name, found]) => {
    const [version] = found.keys();
    return version === undefined ? [] : [{ name, version }];
  });
  const records = await describePackages(apt, newest);
  const needs = packageNeeds(records);
  const independent = new Set(names);
  // Of packages that need each other, the last one that is looked at stays.
  for (const { name } of records)
    if (
      records.some(
        (other) => other.name !== name && independent.has(other.name) && reaches(other.name, name, needs),
      )
    )
      independent.delete(name);
  return independent;
}

function reaches(from: string, to: string, needs: (name: string) => readonly string[]): boolean {
  const seen = new Set([from]);
  for (const name of seen) for (const next of needs(name)) seen.add(next);
  return seen.has(to);
}
