// The exact version behind a reference, narrowed by Kubernetes version, region and time. What is missing is said
// here, with what is near, before any machine is asked for.

import { checkAzureSize, sizeFacts } from '../../domain/azure/sizes.ts';
import { lineChannel } from '../../domain/channel/minor-channel.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Architecture, OperatingSystem } from '../../domain/image/platform.ts';
import { parseReference } from '../../domain/image/reference.ts';
import { isUsable } from '../../domain/image/version-state.ts';
import {
  bestForKubernetes,
  fitsKubernetes,
  kubernetesNotFound,
  readKubernetes,
} from '../../domain/resolve/kubernetes.ts';
import { nearestVersions } from '../../domain/resolve/resolve.ts';
import { didYouMean, orList } from '../../domain/value/suggest.ts';
import { parseTime, toIso } from '../../domain/value/time.ts';
import type { Catalogue, ImageRecord, Resolution, VersionRecord } from '../../ports/database/catalog.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { RegionState } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { allPages } from '../common/all-pages.ts';
import { listGalleries } from '../gallery/galleries.ts';

export interface ResolveQuestion {
  /** Absent: an image is chosen. */
  readonly reference?: string | undefined;
  readonly os?: OperatingSystem | undefined;
  readonly arch?: Architecture | undefined;
  readonly size?: string | undefined;
  readonly at?: string | undefined;
  readonly kubernetes?: string | undefined;
  readonly region?: string | undefined;
}

export interface ResolveDeps {
  readonly catalogue: Catalogue;
  readonly providers: readonly Provider[];
  readonly options: CallOptions;
  /** The clock that stamps the records. */
  readonly now: () => number;
}

export interface ResolveAnswer extends Resolution {
  readonly kubernetes?: string;
  /** Where it was asked for, and is ready. */
  readonly region?: string;
  /** Why it was chosen. */
  readonly why?: readonly string[];
  /** Why it is deprecated or withdrawn. */
  readonly reason?: string;
  /** Why the answer for a time in the past is uncertain. */
  readonly warning?: string;
  /** Of one that is out of use: the nearest versions of the image that can be used. */
  readonly nearest?: readonly string[];
}

/**
 * A withdrawn version is returned too, with its state, since nodes may still run it. Throws as `Catalogue.resolve`, and
 * `kubernetes-not-found` or `region-missing` with why and what is near. A region can only be asked for now.
 */
export async function resolveImage(deps: ResolveDeps, question: ResolveQuestion): Promise<ResolveAnswer> {
  const { reference, at, region } = question;
  if (reference === undefined) return chooseImage(deps, question);
  await checkPlatform(deps, reference, question);
  const kubernetes = question.kubernetes === undefined ? undefined : readKubernetes(question.kubernetes);
  if (at !== undefined && parseTime(at).getTime() > deps.now()) {
    throw new ImagoError(
      'input-invalid',
      `${at} is in the future: ${reference} can still change until then.`,
      {
        hint: 'Leave out --at for the current version.',
      },
    );
  }
  if (at !== undefined && region !== undefined) {
    throw new ImagoError('input-invalid', 'Where a version was at a time is not kept.', {
      hint: 'Leave out --region or --at.',
    });
  }
  if (kubernetes !== undefined && at === undefined && parseReference(reference).kind === 'image') {
    return bestOf(deps, reference, kubernetes, region);
  }
  const { catalogue } = deps;
  const read = async (name: string) => {
    const found = await (at === undefined
      ? catalogue.resolve(name)
      : catalogue.resolveAt(name, parseTime(at)));
    return { found, record: await catalogue.getVersion(found.image, found.version) };
  };
  let { found, record } = await read(reference);
  if (kubernetes !== undefined && !fitsKubernetes(record?.kubernetes, kubernetes)) {
    const inLine = await readLine(reference, kubernetes, read);
    if (!fitsKubernetes(inLine?.record?.kubernetes, kubernetes) || inLine === undefined) {
      throw await otherKubernetes(catalogue, found, record, kubernetes);
    }
    ({ found, record } = inLine);
  }
  if (region !== undefined) await requireRegion(deps, found, region);
  const given = {
    ...answer(found, record, region),
    ...(at !== undefined && (await doubt(deps, found, parseTime(at)))),
  };
  if (isUsable(found.state)) return given;
  const usable = (await allVersions(catalogue, found.image)).filter(({ state }) => isUsable(state));
  const numbers = usable.map(({ version }) => version);
  return { ...given, nearest: nearestVersions(found.version, numbers) };
}

/** Moves are in the order of their ids. One whose time does not fit was recorded while the clock was wrong. */
async function doubt(
  { catalogue, now }: ResolveDeps,
  { image, channel, move }: Resolution,
  at: Date,
): Promise<Pick<ResolveAnswer, 'warning'>> {
  if (channel === undefined || move === undefined) return {};
  for await (const { id, at: recorded } of allPages((query) => catalogue.listMoves(image, channel, query))) {
    const time = Date.parse(recorded);
    if (time <= at.getTime() || (id > move && time <= now())) continue;
    const warning = `The clock was wrong: move ${id} of ${image}:${channel} was recorded at ${recorded}, ${id < move ? 'before an earlier time' : 'which is in the future'}. What the channel pointed to at ${toIso(at)} is uncertain.`;
    return { warning };
  }
  return {};
}

/** Reads the channel of that Kubernetes minor version; `undefined` if there is none. An empty one is an error. */
async function readLine<T>(
  reference: string,
  kubernetes: string,
  read: (name: string) => Promise<T>,
): Promise<T | undefined> {
  const parsed = parseReference(reference);
  if (parsed.kind !== 'channel') return undefined;
  try {
    return await read(`${parsed.image}:${lineChannel(parsed.channel, kubernetes)}`);
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'channel-not-found') return undefined;
    throw thrown;
  }
}

function answer(
  found: Resolution,
  record: Pick<VersionRecord, 'kubernetes' | 'reason'> | undefined,
  region: string | undefined,
): ResolveAnswer {
  return {
    ...found,
    ...(record?.kubernetes === undefined ? {} : { kubernetes: record.kubernetes }),
    ...(region === undefined ? {} : { region }),
    ...(record?.reason === undefined ? {} : { reason: record.reason }),
  };
}

/**
 * The best available version with a Kubernetes version, of whatever image fits. Real images come before those of a
 * simulation, and among equals the version made last.
 */
async function chooseImage(deps: ResolveDeps, question: ResolveQuestion): Promise<ResolveAnswer> {
  const { at, region } = question;
  if (question.kubernetes === undefined || at !== undefined) {
    throw new ImagoError('input-invalid', 'The image is missing.', {
      hint: 'Name an image, or pass --kubernetes VERSION without --at.',
    });
  }
  const kubernetes = readKubernetes(question.kubernetes);
  const fitting: VersionRecord[] = [];
  const left: string[] = [];
  const { catalogue } = deps;
  for await (const image of allPages((query) => catalogue.listImages(query))) {
    const reason = whyNot(image, question);
    if (reason !== undefined) left.push(`${image.name}: ${reason}`);
    else fitting.push(...(await catalogue.listForKubernetes(image.name, kubernetes)));
  }
  const real = fitting.filter(({ simulated }) => simulated !== true);
  const best = bestForKubernetes(real.length > 0 ? real : fitting);
  const galleries = region === undefined ? undefined : await galleriesOf(deps, region);
  for (const version of best) {
    if (galleries !== undefined && !(await isReady(galleries, deps, version, region))) {
      left.push(`${version.image}:${version.version}: not ready in ${region}`);
      continue;
    }
    const { image, version: number, digest, state } = version;
    const resolution = { reference: image, image, version: number, digest, state };
    const others = best.length - 1;
    const why = [
      `${image}:${number} has Kubernetes ${version.kubernetes}, the highest patch of ${kubernetes} that is available${others === 0 ? '' : `; ${others} other versions fit`}.`,
      ...(question.size === undefined ? [] : [sizeReason(question.size)]),
      ...left.map((reason) => `Left out: ${reason}.`),
    ];
    return { ...answer(resolution, version, region), why };
  }
  throw new ImagoError('kubernetes-not-found', `No image that fits has Kubernetes ${kubernetes}.`, {
    hint: left.length === 0 ? 'See `imago image list`.' : `Left out: ${left.join('; ')}.`,
  });
}

type Platform = Pick<ResolveQuestion, 'os' | 'arch' | 'size'>;

function whyNot(image: ImageRecord, { os, arch, size }: Platform): string | undefined {
  if (os !== undefined && image.os !== os) return `it is ${image.os}`;
  if (arch !== undefined && image.architecture !== arch) return `it is ${image.architecture}`;
  if (size === undefined) return undefined;
  try {
    checkAzureSize(size, { architecture: image.architecture, generations: [2] });
    return undefined;
  } catch (thrown) {
    const { message } = ensureImagoError(thrown);
    if (sizeFacts(size) === undefined) throw thrown;
    return message.replace(/\.$/, '');
  }
}

function sizeReason(size: string): string {
  const facts = sizeFacts(size);
  if (facts === undefined) return `${size} is in no table here: Azure decides whether it starts there.`;
  return `${size} (family ${facts.family}) is ${facts.architecture}, and starts generation ${facts.generations.join(' and ')}.`;
}

/** Throws `input-invalid` if the named image is not what was asked for. */
async function checkPlatform({ catalogue }: ResolveDeps, reference: string, asked: Platform): Promise<void> {
  if (asked.os === undefined && asked.arch === undefined && asked.size === undefined) return;
  const { image: name } = parseReference(reference);
  const image = await catalogue.getImage(name);
  const reason = image && whyNot(image, asked);
  if (reason !== undefined) throw new ImagoError('input-invalid', `Image ${name} does not fit: ${reason}.`);
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
  const galleries = region === undefined ? undefined : await galleriesOf(deps, region);
  for (const version of best) {
    if (galleries !== undefined && !(await isReady(galleries, deps, version, region))) continue;
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

/** All galleries of the provider that has the region. */
async function galleriesOf({ providers, options }: ResolveDeps, region: string): Promise<readonly Gallery[]> {
  const provider = providers.find(({ abilities }) => abilities.regions.includes(region));
  if (provider !== undefined) {
    return (await listGalleries([provider], options)).map(({ gallery }) => gallery);
  }
  const known = [...new Set(providers.flatMap(({ abilities }) => abilities.regions))];
  throw new ImagoError('input-invalid', `No provider here has a region ${JSON.stringify(region)}.`, {
    hint:
      didYouMean(region, known) ??
      (known.length === 0 ? 'None of them has regions.' : `There are: ${known.join(', ')}.`),
  });
}

async function isReady(
  galleries: readonly Gallery[],
  deps: ResolveDeps,
  version: Pick<Resolution, 'image' | 'version'>,
  region: string | undefined,
): Promise<boolean> {
  const copies = await copiesIn(galleries, deps, version);
  return copies.some((one) => one.region === region && one.state === 'ready');
}

/** Every copy, in whatever gallery. */
async function copiesIn(
  galleries: readonly Gallery[],
  { options }: ResolveDeps,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
): Promise<readonly RegionState[]> {
  const copies: RegionState[] = [];
  for (const gallery of galleries) {
    const found = await gallery.getVersion(image, version, options);
    if (found?.state !== 'deleting') copies.push(...(found?.regions ?? []));
  }
  return copies;
}

async function requireRegion(deps: ResolveDeps, found: Resolution, region: string): Promise<void> {
  if (!(await isReady(await galleriesOf(deps, region), deps, found, region)))
    throw await notThere(deps, found, region);
}

/** Says where the version is instead, and which one of the image the region has. */
async function notThere(
  deps: ResolveDeps,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
  region: string,
): Promise<ImagoError> {
  const galleries = await galleriesOf(deps, region);
  const copies = await copiesIn(galleries, deps, { image, version });
  const near = await newestIn(deps, galleries, image, region);
  return new ImagoError(
    'region-missing',
    `${image}:${version} is not in ${region}: ${copies.length === 0 ? 'the gallery does not have it' : whereIs(copies)}.`,
    {
      hint:
        near === undefined
          ? `The region has no version of ${image} yet.`
          : `The newest that is there: \`${image}:${near}\`.`,
    },
  );
}

function whereIs(copies: readonly RegionState[]): string {
  const places = copies.map(({ region, state }) => (state === 'ready' ? region : `${region} (${state})`));
  return `it is in ${orList([...new Set(places)])}`;
}

async function newestIn(
  { catalogue, options }: ResolveDeps,
  galleries: readonly Gallery[],
  image: string,
  region: string,
): Promise<string | undefined> {
  const there = new Set<string>();
  for (const gallery of galleries) {
    if ((await gallery.getImage(image, options)) === undefined) continue;
    for await (const copy of allPages((query) => gallery.listVersions(image, query, options), 500)) {
      if (copy.regions.some((one) => one.region === region && one.state === 'ready')) there.add(copy.version);
    }
  }
  const [newest] = (await allVersions(catalogue, image))
    .filter(({ version, state }) => state === 'available' && there.has(version))
    .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  return newest?.version;
}
