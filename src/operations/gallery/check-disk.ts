// Refuses to copy a disk to a provider whose machines could not boot it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { azureChecks } from '../../domain/image-test/azure-checks.ts';
import type { DiskFacts } from '../../domain/image-test/image-check.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationDeps } from '../common/deps.ts';

/** A disk that is not in the local store, and one with an inventory of an earlier Imago, are not judged. */
export async function requireBootable(
  { images }: Pick<OperationDeps, 'images'>,
  { name, abilities }: Pick<Provider, 'name' | 'abilities'>,
  { image, version, digest }: Pick<VersionRecord, 'image' | 'version' | 'digest'>,
): Promise<void> {
  if (abilities.diskChecks === undefined) return;
  const inventory = await images?.records.read(digest, 'inventory');
  const disk = inventory === undefined ? undefined : (JSON.parse(inventory) as DiskFacts);
  if (disk?.boot === undefined) return;
  const failed = azureChecks.flatMap((check) => {
    const { passed, detail } = check.judge(disk, {}, {});
    return passed ? [] : [{ id: check.id, detail, remedy: check.remedy }];
  });
  const [first] = failed;
  if (first === undefined) return;
  throw new ImagoError(
    'disk-unfit',
    `${image}:${version} would not work on machines of ${name}: ${failed.map(({ id, detail }) => `${id} (${detail})`).join(', ')}.`,
    { hint: failed.map(({ remedy }) => remedy).join(' '), details: { checks: failed } },
  );
}
