// The versions that a captured version descends from.
import type { VersionRecord } from '../../domain/image/version.ts';
import type { OperationDeps } from '../common/deps.ts';

/** Returns its ancestors by capture, the parent first. The last one was not captured, unless its record is gone. */
export async function ancestorsOf(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  version: Pick<VersionRecord, 'origin'>,
): Promise<readonly VersionRecord[]> {
  const found: VersionRecord[] = [];
  for (let { origin } = version; origin.kind === 'captured'; ) {
    const [image = '', number = ''] = origin.parent.split(':');
    const parent = await catalogue.getVersion(image, number);
    if (parent === undefined) break;
    found.push(parent);
    ({ origin } = parent);
  }
  return found;
}
