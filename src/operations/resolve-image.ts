// The exact version behind a reference, narrowed by Kubernetes version, region and time. What is missing is said
// here, with what is near, before any machine is asked for.
import { ImagoError } from '../domain/errors.ts';
import { parseReference } from '../domain/reference.ts';
import {
  bestForKubernetes,
  fitsKubernetes,
  kubernetesNotFound,
  readKubernetes,
} from '../domain/resolve-kubernetes.ts';
import { didYouMean, orList } from '../domain/suggest.ts';
import { parseTime } from '../domain/time.ts';
import type { Catalogue, Resolution, VersionRecord } from '../ports/catalogue.ts';
import type { CallOptions, Provider } from '../ports/provider.ts';
import type { GalleryVersion } from '../ports/provider-gallery.ts';
import { allPages } from './all-pages.ts';

export interface ResolveQuestion {
  readonly reference: string;
  readonly at?: string | undefined;
  readonly kubernetes?: string | undefined;
  readonly region?: string | undefined;
}

export interface ResolveDeps {
  readonly catalogue: Catalogue;
  readonly providers: readonly Provider[];
  readonly options: CallOptions;
}

export interface ResolveAnswer extends Resolution {
  readonly kubernetes?: string;
  /** Where it was asked for, and is ready. */
  readonly region?: string;
}

/**
 * Throws as `Catalogue.resolve`, and `kubernetes-not-found` or `region-missing` with why and what is near. A region
 * can only be asked for now.
 */
export async function resolveImage(deps: ResolveDeps, question: ResolveQuestion): Promise<ResolveAnswer> {
  const { reference, at, region } = question;
  const kubernetes = question.kubernetes === undefined ? undefined : readKubernetes(question.kubernetes);
  if (at !== undefined && region !== undefined) {
    throw new ImagoError('input-invalid', 'Where a version was at a time is not kept.', {
      hint: 'Leave out --region or --at.',
    });
  }
  if (kubernetes !== undefined && at === undefined && parseReference(reference).kind === 'image') {
    return bestOf(deps, reference, kubernetes, region);
  }
  const { catalogue } = deps;
  const found =
    at === undefined
      ? await catalogue.resolve(reference)
      : await catalogue.resolveAt(reference, parseTime(at));
  const record = await catalogue.getVersion(found.image, found.version);
  if (kubernetes !== undefined && !fitsKubernetes(record?.kubernetes, kubernetes)) {
    throw await otherKubernetes(catalogue, found, record, kubernetes);
  }
  if (region !== undefined) await requireRegion(deps, found, region);
  return answer(found, record, region);
}

function answer(
  found: Resolution,
  record: Pick<VersionRecord, 'kubernetes'> | undefined,
  region: string | undefined,
): ResolveAnswer {
  return {
    ...found,
    ...(record?.kubernetes === undefined ? {} : { kubernetes: record.kubernetes }),
    ...(region === undefined ? {} : { region }),
  };
}

/** The best that the region has, when one is asked for. */
async function bestOf(
  deps: ResolveDeps,
  image: string,
  kubernetes: string,
  region: string | undefined,
): Promise<ResolveAnswer> {
  const { catalogue } = deps;
  const best = bestForKubernetes(await catalogue.listForKubernetes(image, kubernetes));
  const [first] = best;
  if (first === undefined) {
    if ((await catalogue.getImage(image)) === undefined) await catalogue.resolve(image);
    throw kubernetesNotFound(image, kubernetes, await allVersions(catalogue, image));
  }
  const gallery = region === undefined ? undefined : galleryOf(deps, region);
  for (const version of best) {
    if (gallery !== undefined && !(await isReady(gallery, deps, version, region))) continue;
    const { version: number, digest, state } = version;
    const resolution = { reference: image, image, version: number, digest, state };
    return answer(resolution, version, region);
  }
  throw await notThere(deps, first, region ?? '');
}

async function otherKubernetes(
  catalogue: Catalogue,
  { image, reference, version }: Resolution,
  record: VersionRecord | undefined,
  asked: string,
): Promise<ImagoError> {
  const near = bestForKubernetes(await catalogue.listForKubernetes(image, asked))[0];
  return new ImagoError(
    'kubernetes-not-found',
    `${reference} is ${version}, which has ${record?.kubernetes === undefined ? 'no Kubernetes' : `Kubernetes ${record.kubernetes}`}, not ${asked}.`,
    {
      hint:
        near === undefined
          ? `No available version of ${image} has it.`
          : `The best available with it is \`${image}:${near.version}\` (Kubernetes ${near.kubernetes}).`,
    },
  );
}

async function allVersions(catalogue: Catalogue, image: string): Promise<readonly VersionRecord[]> {
  const all: VersionRecord[] = [];
  for await (const version of allPages((query) => catalogue.listVersions(image, query), 500)) {
    all.push(version);
  }
  return all;
}

type Gallery = NonNullable<Provider['gallery']>;

/** The gallery of the provider that has the region. */
function galleryOf({ providers }: ResolveDeps, region: string): Gallery {
  const gallery = providers.find(({ abilities }) => abilities.regions.includes(region))?.gallery;
  if (gallery !== undefined) return gallery;
  const known = [...new Set(providers.flatMap(({ abilities }) => abilities.regions))];
  throw new ImagoError('input-invalid', `No provider here has a region ${JSON.stringify(region)}.`, {
    hint:
      didYouMean(region, known) ??
      (known.length === 0 ? 'None of them has regions.' : `There are: ${known.join(', ')}.`),
  });
}

async function isReady(
  gallery: Gallery,
  { options }: ResolveDeps,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
  region: string | undefined,
): Promise<boolean> {
  const found = await gallery.getVersion(image, version, options);
  return found?.regions.some((one) => one.region === region && one.state === 'ready') ?? false;
}

async function requireRegion(deps: ResolveDeps, found: Resolution, region: string): Promise<void> {
  if (!(await isReady(galleryOf(deps, region), deps, found, region)))
    throw await notThere(deps, found, region);
}

/** Says where the version is instead, and which one of the image the region has. */
async function notThere(
  deps: ResolveDeps,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
  region: string,
): Promise<ImagoError> {
  const gallery = galleryOf(deps, region);
  const found = await gallery.getVersion(image, version, deps.options);
  const near = await newestIn(deps, gallery, image, region);
  return new ImagoError(
    'region-missing',
    `${image}:${version} is not in ${region}: ${found === undefined ? 'the gallery does not have it' : whereIs(found)}.`,
    {
      hint:
        near === undefined
          ? `The region has no version of ${image} yet.`
          : `The newest that is there: \`${image}:${near}\`.`,
    },
  );
}

function whereIs({ regions }: GalleryVersion): string {
  return `it is in ${orList(regions.map(({ region, state }) => (state === 'ready' ? region : `${region} (${state})`)))}`;
}

async function newestIn(
  { catalogue, options }: ResolveDeps,
  gallery: Gallery,
  image: string,
  region: string,
): Promise<string | undefined> {
  if ((await gallery.getImage(image, options)) === undefined) return undefined;
  const there = new Set<string>();
  for await (const copy of allPages((query) => gallery.listVersions(image, query, options), 500)) {
    if (copy.regions.some((one) => one.region === region && one.state === 'ready')) there.add(copy.version);
  }
  const [newest] = (await allVersions(catalogue, image))
    .filter(({ version, state }) => state === 'available' && there.has(version))
    .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  return newest?.version;
}
