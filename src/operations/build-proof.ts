// Proves of a hotfix that nothing else moved: what differs between the two disks must follow from what was set.
import { type Lock, packagesIn } from '../domain/lock.ts';
import { type RecipeComponent, sourceOf } from '../domain/recipe.ts';
import { expandOne } from '../domain/recipe-variables.ts';
import type { IntendedChanges } from '../ports/image-store.ts';
import type { StepContext, WorkStep } from '../ports/operation.ts';
import { type OperationDeps, requireImages } from './deps.ts';

export interface FixedSubject {
  readonly image: string;
  readonly digest: string;
  /** The number of the version that was changed. */
  readonly previous: string;
  readonly lock: Lock;
  /** `COMPONENT=VERSION`. */
  readonly set: readonly string[];
}

/** The step only tells: whether something that moved as well matters is for a person to say. */
export function proofStep<Input>(
  deps: OperationDeps,
  subjectOf: (context: StepContext<Input>) => FixedSubject | undefined,
): WorkStep<Input> {
  return {
    name: 'prove',
    async do(context) {
      const subject = subjectOf(context);
      if (subject === undefined) return undefined;
      const { image, digest, previous, lock, set } = subject;
      const { find, records } = requireImages(deps);
      const before = await deps.catalogue.getVersion(image, previous);
      if (before === undefined || (await find(before.digest)) === undefined) return undefined;
      const intended = intendedBy(lock, set);
      const unintended = await records.unintended(before.digest, digest, intended, context.signal);
      for (const line of unintended) context.log(`This moved as well: ${line}.`);
      return { unintended: [...unintended] };
    },
  };
}

/** Where the set components are on a node, by the rules of the installer. */
export function intendedBy(lock: Lock, set: readonly string[]): IntendedChanges {
  const names = new Set(set.map((word) => word.replace(/=.*$/s, '')));
  const components = expandOne(lock.recipe).components.filter(({ name }) => names.has(name));
  const packaged = components.flatMap((component) => {
    const source = sourceOf(component);
    return 'package' in source ? [source.package] : [];
  });
  const plain = ['packages', 'base', 'essential'].flatMap((group) =>
    packagesIn(lock, group as 'packages' | 'base' | 'essential').filter(({ name }) => names.has(name)),
  );
  return {
    packages: [...new Set([...packaged, ...plain.map(({ name }) => name)])],
    places: components.flatMap(placesOf),
  };
}

function placesOf({ name, to, unit, config, pick }: RecipeComponent): readonly string[] {
  return [
    `/usr/lib/imago/components/${name}.json`,
    ...(to === undefined ? [] : [to]),
    ...(unit === undefined ? [] : [`/etc/systemd/system/${unit.name ?? `${name}.service`}`]),
    ...(config ?? []).map(({ path }) => path),
    ...(pick === undefined ? [] : [pick.link]),
  ];
}
