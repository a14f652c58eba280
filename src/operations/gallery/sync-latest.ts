// Makes the galleries' own `latest` agree with the channels that they stand for, when these have moved. The channel
// counts, so a gallery that does not answer fails nothing: it is named here, and told again by the next move or round.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { type GalleryOffer, galleryOffer, isOffering, standsFor } from '../../domain/gallery/latest.ts';
import type { ChannelMove, ChannelRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { allPages } from '../common/all-pages.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { type KnownGallery, openGallery } from './galleries.ts';
import { answered, type OfferChange, settleOffer, startOffer } from './offer.ts';

/** One sentence each in `failed`; the others are `public: node:1.34.2`. */
export interface AgreedLatest {
  readonly offered: readonly string[];
  readonly leftOut: readonly string[];
  readonly failed: readonly string[];
}

type Deps = Pick<OperationDeps, 'catalogue' | 'galleryBook' | 'provider' | 'providers' | 'epoch'>;

const stepName = 'latest';

export interface ImageChannel {
  readonly image: string;
  readonly channel: string;
}

/** One sentence for each gallery whose `latest` would follow the channel to the version. */
export async function planLatest(
  deps: Deps,
  { image, channel }: ImageChannel,
  to: string,
): Promise<readonly string[]> {
  const known = await deps.catalogue.getChannel(image, channel);
  if (known === undefined) return [];
  const planned: string[] = [];
  for (const gallery of await followersOf(deps, known)) {
    const channels = await offeringIn(deps, gallery, image, { ...known, version: to });
    const { leftOut } = await offerOf(deps, channels);
    const without = leftOut.length === 0 ? '' : `, and leave out ${leftOut.join(', ')}`;
    planned.push(`Then offer ${to} as latest in gallery ${gallery.name}${without}.`);
  }
  return planned;
}

/** The last step of what moved channels, also when it moved none. Undo has nothing to do: moves are not undone. */
export function latestStep<Input>(
  deps: OperationDeps,
  channelsOf: (context: StepContext<Input>) => Promise<readonly ImageChannel[]>,
): WorkStep<Input> {
  return {
    name: stepName,
    async do(context) {
      const { offered, leftOut, failed } = await agreeLatest(deps, await channelsOf(context), context);
      for (const sentence of failed) context.log(sentence);
      return { offered: [...offered], leftOut: [...leftOut], failed: [...failed] };
    },
  };
}

/** For the result: the galleries that were not told, if there are any. */
export function untold(context: StepContext<unknown>): { readonly untold?: string[] } {
  const { failed = [] } = context.result<{ readonly failed: string[] }>(stepName) ?? {};
  return failed.length === 0 ? {} : { untold: [...failed] };
}

async function agreeLatest(
  deps: OperationDeps,
  channels: readonly ImageChannel[],
  context: Pick<StepContext<unknown>, 'signal' | 'progress'>,
): Promise<AgreedLatest> {
  const agreed: AgreedLatest[] = [];
  const seen = new Set<string>();
  for (const { image, channel } of channels) {
    const known = await deps.catalogue.getChannel(image, channel);
    if (known === undefined) continue;
    const galleries = (await followersOf(deps, known)).filter(({ name }) => !seen.has(`${name} ${image}`));
    for (const { name } of galleries) seen.add(`${name} ${image}`);
    context.progress(0, galleries.length, `telling ${galleries.length} galleries what ${image}:latest is`);
    agreed.push(
      ...(await Promise.all(
        galleries.map((gallery) =>
          agreeUntilSame(deps, gallery, image, { signal: context.signal, wait: true }),
        ),
      )),
    );
  }
  return {
    offered: agreed.flatMap(({ offered }) => offered),
    leftOut: agreed.flatMap(({ leftOut }) => leftOut),
    failed: agreed.flatMap(({ failed }) => failed),
  };
}

/** So often it looks again after a channel that moved on meanwhile. */
const mostTurns = 5;

/**
 * Looks again afterwards: a withdrawal may have left the version out just before it was offered here. Whoever moved the
 * channel last is told by the log, so the last to look puts it right.
 */
export async function agreeUntilSame(
  deps: Deps,
  gallery: GalleryRecord,
  image: string,
  options: AgreeOptions,
): Promise<AgreedLatest & { readonly whole: boolean }> {
  const was = new Set<string>();
  for (let turn = 1; ; turn += 1) {
    const channels = await offeringIn(deps, gallery, image);
    const agreed = await agreeGallery(deps, gallery, { image, channels, was }, options);
    const same = markOf(channels) === markOf(await offeringIn(deps, gallery, image));
    if (same || turn >= mostTurns) return { ...agreed, whole: agreed.whole && same };
    for (const { version } of channels) was.add(version);
  }
}

export interface AgreeOptions {
  readonly signal: AbortSignal;
  /** Whether to wait until the gallery reads back so, or only to start it. */
  readonly wait: boolean;
}

interface Wanted {
  readonly image: string;
  readonly channels: readonly PointingChannel[];
  /** What an earlier turn may have offered: left out unless it is to be offered still. */
  readonly was: ReadonlySet<string>;
}

/** `whole` when all of it is there and read back so. Throws nothing but what stopped it. */
async function agreeGallery(
  deps: Deps,
  record: GalleryRecord,
  { image, channels, was }: Wanted,
  { signal, wait }: AgreeOptions,
): Promise<AgreedLatest & { readonly whole: boolean }> {
  const options = callOptions(deps, signal);
  const failed: string[] = [];
  const done: Record<'offered' | 'leftOut', string[]> = { offered: [], leftOut: [] };
  let whole = true;
  const { digests, ...offer } = await offerOf(deps, channels);
  const gallery = await guard(async () => openKnown(deps, record));
  if (gallery !== undefined && (await guard(() => exists(gallery, record, options))) === true) {
    const gone = [...was].filter((version) => !offer.offered.includes(version));
    await change(gallery, offer.offered, true);
    await change(gallery, [...new Set([...offer.leftOut, ...gone])], false);
  } else whole = false;
  return { ...done, failed, whole: whole && failed.length === 0 };

  async function guard<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (thrown) {
      const error = ensureImagoError(thrown);
      if (signal.aborted || error.code === 'owner-stale') throw thrown;
      failed.push(`Gallery ${record.name} was not told what latest is: ${error.message}`);
      return undefined;
    }
  }

  async function change(known: KnownGallery, versions: readonly string[], offered: boolean): Promise<void> {
    const told = done[offered ? 'offered' : 'leftOut'];
    const started: OfferChange[] = [];
    for (const version of versions) {
      const asked = { image, version, offered, digest: digests.get(version) };
      const found = await guard(() => startOffer(known, asked, options));
      if (found === 'making' || (found === 'started' && !wait) || (found === 'absent' && offered)) {
        whole = false;
      }
      if (found === 'started') started.push(asked);
      if (found === 'so') told.push(`${record.name}: ${image}:${version}`);
    }
    for (const asked of wait ? started : []) {
      const settled = await guard(() => settleOffer(known, asked, options).then(() => true));
      if (settled) told.push(`${record.name}: ${image}:${asked.version}`);
    }
  }
}

/** The channels that a gallery offers, each pointing somewhere. `moved`: as it would be after a move. */
export async function offeringIn(
  { catalogue }: Pick<Deps, 'catalogue'>,
  gallery: GalleryRecord,
  image: string,
  moved?: ChannelRecord,
): Promise<readonly PointingChannel[]> {
  const channels = await catalogue.listChannels(image);
  return channels
    .map((channel) => (channel.name === moved?.name ? moved : channel))
    .filter((channel) => isOffering(channel) && standsFor(gallery, channel.name))
    .flatMap((channel) => (channel.version === undefined ? [] : [{ ...channel, version: channel.version }]));
}

export type PointingChannel = ChannelRecord & { readonly version: string };

/** Changes with every move. */
export function markOf(channels: readonly PointingChannel[]): string {
  return channels.map(({ name, move }) => `${name}@${move}`).join(' ');
}

async function offerOf(
  { catalogue }: Pick<Deps, 'catalogue'>,
  channels: readonly PointingChannel[],
): Promise<GalleryOffer & { readonly digests: ReadonlyMap<string, string> }> {
  const logs: { version: string; moves: ChannelMove[] }[] = [];
  const digests = new Map<string, string>();
  for (const { image, name, version } of channels) {
    const moves: ChannelMove[] = [];
    for await (const move of allPages((query) => catalogue.listMoves(image, name, query))) {
      moves.push(move);
      if (move.to !== undefined && move.toDigest !== undefined) digests.set(move.to, move.toDigest);
    }
    logs.push({ version, moves });
  }
  return { ...galleryOffer(logs), digests };
}

/** The galleries whose `latest` follows the channel: none for testing, none of providers that have no such thing. */
export async function followersOf(
  deps: Pick<Deps, 'galleryBook' | 'providers'>,
  channel: ChannelRecord,
): Promise<readonly GalleryRecord[]> {
  if (!isOffering(channel)) return [];
  return (await deps.galleryBook.list()).filter(
    (gallery) => standsFor(gallery, channel.name) && canLeaveOut(deps, gallery),
  );
}

/** One whose provider is not loaded here is tried, and named. */
export function canLeaveOut(deps: Pick<Deps, 'providers'>, { provider }: GalleryRecord): boolean {
  const known = deps.providers().find(({ name }) => name === provider);
  return known === undefined || known.abilities.excludeFromLatest;
}

function openKnown(deps: Deps, record: GalleryRecord): KnownGallery {
  const gallery = openGallery(deps.providers(), record);
  return { name: record.name, provider: deps.provider(record.provider), gallery };
}

/** A gallery is made by its first copy. */
async function exists(
  { provider, name }: KnownGallery,
  { place }: GalleryRecord,
  options: ReturnType<typeof callOptions>,
): Promise<boolean> {
  if (place === undefined || provider.galleries === undefined) return true;
  const found = await provider.galleries.getGallery(place, answered(`Gallery ${name}`, options));
  return found !== undefined;
}
