// Which packages a set of names comes to, by apt's own solver: the base system first, so that adding a package
// to the node never changes the base below it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { packageVersionFits } from '../../domain/lock/lock.ts';
import { didYouMean } from '../../domain/value/suggest.ts';
import { type AptOperand, type AptWorkspace, aptOperand } from './apt-workspace.ts';
import { installedRecord, type PackageRecord, readRecords } from './package-record.ts';

export interface WantedPackage {
  readonly name: string;
  readonly version?: string | undefined;
}

/**
 * What must be added to `present` so that all of `wanted` are installed. Throws `package-not-found` with near
 * names or the versions there are, and `package-conflict` when they do not go together.
 */
export async function solvePackages(
  apt: AptWorkspace,
  wanted: readonly WantedPackage[],
  present: readonly PackageRecord[],
): Promise<readonly PackageRecord[]> {
  if (wanted.length === 0) return [];
  const pinned = wanted.filter(({ version }) => version !== undefined).map(({ name }) => name);
  const versions = await packageVersions(apt, pinned);
  const exact: AptOperand[] = [];
  for (const item of wanted) exact.push(await exactName(apt, item, versions.get(item.name) ?? []));
  const status = present.map((record) => `${installedRecord(record)}\n\n`).join('');
  const plan = await simulate(apt, exact, status);
  if (plan.removed.length > 0) {
    throw new ImagoError(
      'package-conflict',
      `${exact.join(', ')} cannot be installed together with the base system: ${plan.removed.join(', ')} would have to go.`,
      { details: { blocked: plan.removed } },
    );
  }
  const replaced = plan.installed.find(({ name }) => present.some((item) => item.name === name));
  if (replaced !== undefined) {
    throw new ImagoError(
      'package-conflict',
      `${exact.join(', ')} would need another version of ${replaced.name} than the base system has.`,
      { details: { blocked: [replaced.name] } },
    );
  }
  return describePackages(apt, plan.installed);
}

/** The records of exact versions, in the order given. */
export async function describePackages(
  apt: AptWorkspace,
  packages: readonly { readonly name: string; readonly version: string }[],
): Promise<readonly PackageRecord[]> {
  if (packages.length === 0) return [];
  const operands = packages.map(({ name, version }) => aptOperand(name, version));
  const records = readRecords(await apt.run('apt-cache', ['show'], operands));
  return packages.map(({ name, version }) => {
    const found = records.find((record) => record.name === name && record.version === version);
    if (found !== undefined && /^[0-9a-f]{64}$/.test(found.sha256)) return found;
    throw new ImagoError('package-not-found', `The index has no sha256 for ${name} ${version}.`);
  });
}

/** Every version of each package that the archive has, the one that apt would take first. */
export async function packageVersions(
  apt: AptWorkspace,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await archivedVersions(apt, names);
  return new Map([...found].map(([name, versions]) => [name, [...versions.keys()]]));
}

/** The same, with whether the part of the archive that has security updates has the version. */
export async function archivedVersions(
  apt: AptWorkspace,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, boolean>>> {
  const found = new Map<string, Map<string, boolean>>();
  if (names.length === 0) return found;
  const operands = names.map((name) => aptOperand(name));
  for (const line of (await apt.run('apt-cache', ['madison'], operands)).split('\n')) {
    const [name, version, source = ''] = line.split('|').map((part) => part.trim());
    if (name === undefined || version === undefined) continue;
    const known = found.get(name) ?? new Map<string, boolean>();
    const isSecurity = source.includes(` ${apt.archive.suite}-security/`);
    found.set(name, known.set(version, known.get(version) === true || isSecurity));
  }
  return found;
}

async function exactName(
  apt: AptWorkspace,
  { name, version }: WantedPackage,
  versions: readonly string[],
): Promise<AptOperand> {
  if (version === undefined) return aptOperand(name);
  if (versions.length === 0) throw await unknownPackage(apt, name);
  const found = versions.find((candidate) => packageVersionFits(version, candidate));
  if (found !== undefined) return aptOperand(name, found);
  throw new ImagoError(
    'package-not-found',
    `${apt.archive.suite} has ${name} ${versions.join(' and ')}, and not ${version}.`,
    { hint: 'Take a version that is there, or leave the version out and let the lock fix it.' },
  );
}

interface Plan {
  readonly installed: readonly { readonly name: string; readonly version: string }[];
  readonly removed: readonly string[];
}

async function simulate(apt: AptWorkspace, names: readonly AptOperand[], status: string): Promise<Plan> {
  const text = await apt
    .run('apt-get', ['install', '--simulate', '--allow-downgrades', '-q', '-y'], names, status)
    .catch((error: unknown) => explain(apt, error));
  const lines = text.split('\n');
  return {
    installed: lines.flatMap((line) => {
      const match = /^Inst (\S+) (?:\[[^\]]*\] )?\((\S+) /.exec(line);
      return match === null ? [] : [{ name: (match[1] ?? '').replace(/:.*$/, ''), version: match[2] ?? '' }];
    }),
    removed: lines.flatMap((line) => /^Remv (\S+)/.exec(line)?.[1] ?? []),
  };
}

async function explain(apt: AptWorkspace, error: unknown): Promise<never> {
  if (!(error instanceof ImagoError) || error.code !== 'tool-failed') throw error;
  const unknown =
    /Unable to locate package (\S+?)(?:;|$)/.exec(error.message)?.[1] ??
    /Package '?(\S+?)'? has no installation candidate/.exec(error.message)?.[1];
  if (unknown !== undefined) throw await unknownPackage(apt, unknown);
  throw new ImagoError('package-conflict', `The packages cannot be installed together: ${error.message}`, {
    details: { blocked: error.details?.blocked ?? [] },
    cause: error,
  });
}

async function unknownPackage(apt: AptWorkspace, name: string): Promise<ImagoError> {
  const names = (await apt.run('apt-cache', ['pkgnames'], [])).split('\n');
  const hint = didYouMean(name, names) ?? 'Look for its name on the pages of the distribution.';
  return new ImagoError('package-not-found', `${apt.archive.suite} has no package ${name}.`, { hint });
}
