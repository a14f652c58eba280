// The first step of operations that have a reference: which exact version, by which move.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseReference } from '../../domain/image/reference.ts';
import { requireUsable } from '../../domain/image/version-state.ts';
import { requireExact } from '../../domain/resolve/resolve.ts';
import type { Catalogue, Resolution, VersionRecord } from '../../ports/database/catalog.ts';
import type { NamedStep } from '../common/operation.ts';

interface Deps {
  readonly catalogue: Catalogue;
}

/** Resolves a reference that must name a version, channel or digest, and refuses a withdrawn one. */
export async function resolveUsable({ catalogue }: Deps, reference: string): Promise<Resolution> {
  requireExact(reference);
  const resolution = await catalogue.resolve(reference);
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

/** Throws `version-not-found`. */
export async function requireVersion(
  { catalogue }: Pick<Deps, 'catalogue'>,
  image: string,
  version: string,
): Promise<VersionRecord> {
  const found = await catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  throw new ImagoError('version-not-found', `${image}:${version} is no longer in the catalog.`);
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

/** Refuses a bare image name: the newest version may be another one by the time that others read it. */
export async function refuseBareName({ catalogue }: Deps, text: string): Promise<void> {
  const { kind, image } = parseReference(text);
  if (kind !== 'image') return;
  const { version } = await catalogue.resolve(text);
  throw new ImagoError(
    'reference-inexact',
    `\`${image}\` names no version and no channel, and only an exact version is copied.`,
    { hint: `The newest is \`${image}:${version}\`; see \`imago image list ${image}\` for the rest.` },
  );
}
