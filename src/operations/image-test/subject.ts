// What a test must know of the version: what is on its disk, and what its recipe asks for.
import type { DiskFacts } from '../../domain/image-test/image-check.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { BootFirmware, RecipeBudgets, RecipeExpect, RecipeTest } from '../../domain/recipe/recipe.ts';
import { bootFirmwares } from '../../domain/recipe/schema.ts';
import type { OperationDeps } from '../common/deps.ts';
import { ancestorsOf } from '../image/ancestors.ts';

export interface TestSubject {
  /** Absent if the version is not in the local store, or its disk could not be read. */
  readonly disk?: DiskFacts;
  readonly budgets: RecipeBudgets;
  readonly tests: readonly RecipeTest[];
  readonly expect: RecipeExpect;
  /** The kinds that must all have passed before the version is available. A capture needs only its donor's. */
  readonly firmware: readonly BootFirmware[];
}

export async function testSubject(
  { catalogue, images }: OperationDeps,
  { image, version, digest }: { readonly image: string; readonly version: string; readonly digest: string },
): Promise<TestSubject> {
  const inventory = await images?.records.read(digest, 'inventory');
  const record = await catalogue.getVersion(image, version);
  // A captured version is tested by the recipe that its first ancestor was built from.
  const root = record && ((await ancestorsOf({ catalogue }, record)).at(-1) ?? record);
  const origin = root?.origin;
  const lock = origin?.kind === 'built' ? await images?.locks.read(origin.lockDigest) : undefined;
  const { recipe } = (lock ?? { recipe: {} }) as unknown as Partial<Pick<Lock, 'recipe'>>;
  return {
    ...(inventory === undefined ? {} : { disk: JSON.parse(inventory) as DiskFacts }),
    budgets: recipe?.budgets ?? {},
    tests: recipe?.tests ?? [],
    expect: recipe?.expect ?? {},
    firmware: record?.origin.kind === 'captured' ? [] : (recipe?.firmware ?? bootFirmwares),
  };
}
