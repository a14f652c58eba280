// Who needs whom among packages that were solved together.
import type { PackageRecord } from './package-record.ts';

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
