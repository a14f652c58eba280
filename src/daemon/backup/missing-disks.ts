// Reports versions whose disk was not in the local store when they were restored, until the disk is copied or the version
// is deleted.
import type { FoundProblem } from '../../domain/problem/problem.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import type { ImageSpace } from '../../ports/database/lifecycle.ts';
import type { Problems } from '../../ports/database/problems.ts';

interface MissingDisksDeps {
  readonly catalogue: Pick<Catalogue, 'getVersion'>;
  readonly problems: Pick<Problems, 'openOf'>;
}

/** Returns the problems that restore recorded, if their disk is still missing. */
export async function missingDisks(
  { catalogue, problems }: MissingDisksDeps,
  space: Pick<ImageSpace, 'digests'>,
): Promise<readonly FoundProblem[]> {
  const open = await problems.openOf('disks');
  if (open.length === 0) return [];
  const here = await space.digests();
  const missing: FoundProblem[] = [];
  for (const { kind, subject, message, hint } of open) {
    const [, image = '', number = ''] = /^version\/(.+):([^:]+)$/.exec(subject) ?? [];
    const version = await catalogue.getVersion(image, number);
    if (version === undefined || version.state === 'deleted' || here.has(version.digest)) continue;
    missing.push({ kind, subject, message, ...(hint !== undefined && { hint }) });
  }
  return missing;
}
