// Which packages of a disk are older than those in the signed index of their archive.
import { mapLimit } from '../../async/map-limit.ts';
import { toIso } from '../../domain/value/time.ts';
import { wordProblem } from '../../domain/value/word.ts';
import { openAddress } from '../../host/network/open-address.ts';
import type { ArchiveComparison, InstalledPackage } from '../../ports/provider/builder.ts';
import {
  type AptContext,
  type AptWorkspace,
  archiveParts,
  type DebianArchive,
  withApt,
} from './apt-workspace.ts';
import { compareDebianVersions } from './compare-versions.ts';
import { indexDate } from './index-state.ts';
import { archivedVersions, describePackages } from './solve-packages.ts';

type Behind = ArchiveComparison['behind'][number];

interface Found extends Omit<Behind, 'since'> {
  /** The first update that the disk lacks: a security update, if there is one. */
  readonly first: string;
}

/** Throws `archive-untrusted` or `download-failed`. */
export async function compareArchive(
  archive: DebianArchive,
  installed: readonly InstalledPackage[],
  context: AptContext,
): Promise<ArchiveComparison> {
  const names = [...new Set(installed.map(({ name }) => name))].filter(isPackageName);
  return withApt(archive, context, async (apt) => {
    const versions = await archivedVersions(apt, names);
    const found = installed.flatMap(({ name, version }) => newer(name, version, versions.get(name)) ?? []);
    const dates = await publicationDates(apt, found, context);
    return {
      suite: archive.suite,
      indexedAt: (await indexDate(apt.lists)) ?? toIso(new Date(0)),
      hasSecurity: archive.securityMirror !== undefined,
      behind: found.map(({ first: _, ...one }, index) => {
        const since = dates[index];
        return { ...one, ...(since !== undefined && { since }) };
      }),
      unlisted: names.filter((name) => !versions.has(name)),
    };
  });
}

export function isPackageName(name: string): boolean {
  return wordProblem('package', name) === undefined;
}

function newer(
  name: string,
  current: string,
  versions: ReadonlyMap<string, boolean> = new Map(),
): Found | undefined {
  const later = [...versions]
    .filter(([version]) => compareDebianVersions(version, current) > 0)
    .sort(([a], [b]) => compareDebianVersions(a, b));
  const [newest] = later.at(-1) ?? [];
  if (newest === undefined) return undefined;
  const [first = newest, security = false] = later.find(([, isSecurity]) => isSecurity) ?? later[0] ?? [];
  return { name, current, newest, security, first };
}

/** When the archive got each package, as its server says: the signed index has no dates of packages. */
async function publicationDates(
  apt: AptWorkspace,
  found: readonly Found[],
  { guard, signal }: AptContext,
): Promise<readonly (string | undefined)[]> {
  const records = await describePackages(
    apt,
    found.map(({ name, first }) => ({ name, version: first })),
  );
  const parts = archiveParts(apt.archive);
  const files = records.map(({ path }, index) => ({ path, security: found[index]?.security === true }));
  return mapLimit(files, 8, async ({ path, security }) => {
    const part = parts.find(({ isSecurity }) => isSecurity === security);
    const file = path.split('/').map(encodeURIComponent).join('/');
    const address = `${(part?.address ?? '').replace(/\/+$/, '')}/${file}`;
    const limit = AbortSignal.timeout(patienceMs);
    const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    try {
      const options = { guard, signal: either, headers: {}, method: 'HEAD' as const };
      const { status, headers, body } = await openAddress(address, options);
      body.destroy();
      const at = Date.parse(headers['last-modified'] ?? '');
      return status === 200 && !Number.isNaN(at) ? toIso(new Date(at)) : undefined;
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  });
}

const patienceMs = 10_000;
