// The first step of operations that have a reference: which exact version, by which move.
import { requireUsable } from '../../domain/image/version-state.ts';
import { requireExact } from '../../domain/resolve/resolve.ts';
import type { Catalogue, Resolution } from '../../ports/database/catalog.ts';
import type { NamedStep } from '../common/operation.ts';

interface Deps {
  readonly catalogue: Catalogue;
}

/** Resolves a reference that must name a version, channel or digest, and refuses a withdrawn one. */
export async function resolveUsable({ catalogue }: Deps, reference: string): Promise<Resolution> {
  const resolution = await catalogue.resolve(reference);
  requireExact(reference, resolution.version);
  requireUsable(resolution);
  return resolution;
}

/** Checks again: what was resolved some steps ago may be withdrawn by now. Throws `version-withdrawn`. */
export async function requireStillUsable(
  { catalogue }: Deps,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
): Promise<void> {
  const now = await catalogue.getVersion(image, version);
  if (now !== undefined) requireUsable(now);
}

export const resolveStep: NamedStep<
  'resolve',
  { readonly reference: string },
  Record<never, never>,
  Resolution
> = {
  name: 'resolve',
  do: (run) => resolveUsable(run, run.input.reference),
};
