// Makes each gallery's own `latest` match the channels that it serves: after moves, after withdrawals, and periodically.
// The channel is the truth, so a gallery that does not respond fails nothing: it is reported, and the next sync retries.
import { answerDeadline } from '../../async/deadline.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { type GalleryOffer, galleryOffer, isOffering, standsFor } from '../../domain/gallery/latest.ts';
import type { ChannelMove, ChannelRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { GalleryVersion } from '../../ports/provider/gallery.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { allPages } from '../common/all-pages.ts';
import type { Calls } from '../common/deps.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import type { NamedStep, Run } from '../common/operation.ts';
import { digestTag } from './copy-compare.ts';
import { type KnownGallery, listGalleries, openGallery } from './galleries.ts';

/** The versions as `public: node:1.34.2`; one sentence for each gallery that failed. */
export interface SyncedLatest {
  readonly offered: readonly string[];
  readonly leftOut: readonly string[];
  readonly failed: readonly string[];
}

type Deps = Pick<OperationDeps, 'catalogue' | 'galleryBook' | 'provider' | 'providers' | 'epoch'>;

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

/** The last step of operations that move channels. It has no undo: moves are not undone. */
export function latestStep<Input, Results>(
  channelsOf: (run: Run<Input, Results>) => Promise<readonly ImageChannel[]>,
): NamedStep<'latest', Input, Results, SyncedLatest> {
  return {
    name: 'latest',
    async do(run) {
      const synced = await syncChannels(run, await channelsOf(run), run);
      for (const sentence of synced.failed) run.log(sentence);
      return synced;
    },
  };
}

/** For the result: the galleries that were not updated, if there are any. */
export function unsynced(run: Pick<Run<unknown, { readonly latest: SyncedLatest }>, 'maybe'>): {
  readonly unsynced?: readonly string[];
} {
  const { failed = [] } = run.maybe('latest') ?? {};
  return failed.length === 0 ? {} : { unsynced: failed };
}

async function syncChannels(
  deps: Deps,
  channels: readonly ImageChannel[],
  { signal, progress }: Pick<StepContext<unknown>, 'signal' | 'progress'>,
): Promise<SyncedLatest> {
  const synced: SyncedLatest[] = [];
  const seen = new Set<string>();
  for (const { image, channel } of channels) {
    const known = await deps.catalogue.getChannel(image, channel);
    if (known === undefined) continue;
    const galleries = (await followersOf(deps, known)).filter(({ name }) => !seen.has(`${name} ${image}`));
    for (const { name } of galleries) seen.add(`${name} ${image}`);
    progress(0, galleries.length, `updating latest of ${image} in ${galleries.length} galleries`);
    const each = galleries.map((gallery) => syncLatest(deps, gallery, image, { signal, wait: true }));
    synced.push(...(await Promise.all(each)));
  }
  return {
    offered: synced.flatMap(({ offered }) => offered),
    leftOut: synced.flatMap(({ leftOut }) => leftOut),
    failed: synced.flatMap(({ failed }) => failed),
  };
}

const maxTurns = 5;

export interface SyncOptions {
  readonly signal: AbortSignal;
  /** Whether to wait until the gallery reads back as wanted, or only to start the change. */
  readonly wait: boolean;
}

export interface SyncedGallery extends SyncedLatest {
  /** Everything is there and read back. */
  readonly whole: boolean;
}

/**
 * Makes what the gallery offers of the image match its channels, and checks the channels again afterwards: one may have
 * moved concurrently, and the last one to check corrects it. Throws only what stopped it.
 */
export async function syncLatest(
  deps: Deps,
  record: GalleryRecord,
  image: string,
  options: SyncOptions,
): Promise<SyncedGallery> {
  const earlier = new Set<string>();
  for (let turn = 1; ; turn += 1) {
    const channels = await offeringIn(deps, record, image);
    const synced = await syncOnce(deps, record, { image, channels, earlier }, options);
    const same = markOf(channels) === markOf(await offeringIn(deps, record, image));
    if (same || turn >= maxTurns) return { ...synced, whole: synced.whole && same };
    for (const { version } of channels) earlier.add(version);
  }
}

interface Wanted {
  readonly image: string;
  readonly channels: readonly PointingChannel[];
  /** What an earlier turn may have offered: left out unless it is still to be offered. */
  readonly earlier: ReadonlySet<string>;
}

async function syncOnce(
  deps: Deps,
  record: GalleryRecord,
  { image, channels, earlier }: Wanted,
  { signal, wait }: SyncOptions,
): Promise<SyncedGallery> {
  const options = callOptions(deps, signal);
  const failed: string[] = [];
  const done: Record<'offered' | 'leftOut', string[]> = { offered: [], leftOut: [] };
  let whole = true;
  const guard = guarded(signal, failed, `Gallery ${record.name} did not receive what latest is`);
  const { digests, offered, leftOut } = await offerOf(deps, channels);
  const gallery = await guard(async () => openKnown(deps, record));
  if (gallery !== undefined && (await guard(() => exists(gallery, record, options))) === true) {
    await change(gallery, offered, true);
    const gone = [...earlier].filter((version) => !offered.includes(version));
    await change(gallery, [...new Set([...leftOut, ...gone])], false);
  } else whole = false;
  return { ...done, failed, whole: whole && failed.length === 0 };

  async function change(known: KnownGallery, versions: readonly string[], isOffered: boolean): Promise<void> {
    const names = done[isOffered ? 'offered' : 'leftOut'];
    const started: OfferChange[] = [];
    for (const version of versions) {
      const asked = { image, version, offered: isOffered, digest: digests.get(version) };
      const found = await guard(() => startOffer(known, asked, options));
      if (found === 'making' || (found === 'started' && !wait) || (found === 'absent' && isOffered)) {
        whole = false;
      }
      if (found === 'started') started.push(asked);
      if (found === 'done') names.push(`${record.name}: ${image}:${version}`);
    }
    for (const asked of wait ? started : []) {
      const settled = await guard(() => settleOffer(known, asked, options).then(() => true));
      if (settled) names.push(`${record.name}: ${image}:${asked.version}`);
    }
  }
}

/** Runs work; what it throws becomes a sentence in `failed`, unless it means that this process must stop. */
function guarded(signal: AbortSignal, failed: string[], what: string) {
  return async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (thrown) {
      signal.throwIfAborted();
      const error = ensureImagoError(thrown);
      if (error.code === 'owner-stale') throw thrown;
      failed.push(`${what}: ${error.message}`);
      return undefined;
    }
  };
}

export interface ToldGalleries {
  /** `sim/main: node:1.34.2`. */
  readonly told: readonly string[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

/**
 * Excludes versions from `latest` in every gallery of every provider, and reads back that they are. A gallery that does
 * not respond is reported, and does not delay the others.
 */
export async function excludeFromLatest(
  run: Pick<Calls, 'providers' | 'call'> & Pick<StepContext<unknown>, 'progress'>,
  versions: readonly VersionName[],
): Promise<ToldGalleries> {
  const { call, progress } = run;
  const told: string[] = [];
  const failed: string[] = [];
  for (const provider of run.providers()) {
    if (!provider.abilities.excludeFromLatest) continue;
    const galleries = await guarded(
      call.signal,
      failed,
      `${provider.name} does not list its galleries`,
    )(() => listGalleries([provider], answered(provider.name, call)));
    for (const gallery of galleries ?? []) {
      await guarded(
        call.signal,
        failed,
        `gallery ${gallery.name} does not leave it out`,
      )(async () => {
        for (const [index, version] of versions.entries()) {
          progress(index, versions.length, `updating gallery ${gallery.name}`);
          if (await exclude(gallery, version, call)) {
            told.push(`${gallery.name}: ${version.image}:${version.version}`);
          }
        }
      });
    }
  }
  return { told, failed };
}

/** Returns `false` if the gallery does not have the version. */
async function exclude(gallery: KnownGallery, name: VersionName, call: CallOptions): Promise<boolean> {
  const change = { ...name, offered: false };
  const found = await startOffer(gallery, change, call);
  if (found === 'making') {
    throw new ImagoError('provider-conflict', `${name.image}:${name.version} is still being created there.`);
  }
  if (found === 'started') await settleOffer(gallery, change, call);
  return found !== 'absent';
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

/** A gallery whose provider is not loaded here is tried, and reported. */
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

/** Azure takes 150 s for such a change. */
const deadlineMs = 15 * 60_000;

/** How long a gallery may not respond, by our own clock: a hanging call settles nothing. */
const silentMs = 2 * 60_000;
const settleSilentMs = deadlineMs + silentMs;

interface OfferChange extends VersionName {
  readonly offered: boolean;
  /** Something else with the same number is not changed. */
  readonly digest?: string | undefined;
}

/**
 * Starts the change, unless it is already `done`. Returns `absent` if the gallery does not have the version, `making`
 * while it cannot be changed because it is still being created.
 */
async function startOffer(
  { gallery, name }: KnownGallery,
  { image, version, offered, digest }: OfferChange,
  call: CallOptions,
): Promise<'done' | 'started' | 'making' | 'absent'> {
  const options = answered(`Gallery ${name}`, call);
  const now = await gallery.getVersion(image, version, options);
  if (now === undefined || now.state === 'deleting') return 'absent';
  if (digest !== undefined && now.tags[digestTag] !== digest) return 'absent';
  if (isOffered(now, offered)) return 'done';
  if (now.state === 'creating') return 'making';
  const excludeFromLatest = !offered;
  const regions = now.regions.map(({ region, replicas }) => ({ region, replicas, excludeFromLatest }));
  await gallery.updateVersion(image, version, { excludeFromLatest, regions }, options);
  return 'started';
}

/** Waits until it is done. A version that is deleted in the meantime is left out permanently. */
async function settleOffer(
  { gallery, provider, name }: KnownGallery,
  { image, version, offered }: OfferChange,
  call: CallOptions,
): Promise<void> {
  const options = answered(`Gallery ${name}`, call, settleSilentMs);
  await settle(
    async () => {
      const now = await gallery.getVersion(image, version, options);
      return now === undefined || isOffered(now, offered) ? true : undefined;
    },
    {
      ...{ clock: provider.clock, signal: options.signal, deadlineMs },
      what: offered
        ? `Offering ${image}:${version} as latest in gallery ${name}`
        : `Leaving ${image}:${version} out of latest in gallery ${name}`,
    },
  );
}

/** The same call, abandoned with `provider-timeout` if `who` does not respond. */
function answered(who: string, { signal, epoch }: CallOptions, ms = silentMs): CallOptions {
  return { epoch, signal: AbortSignal.any([signal, answerDeadline(ms, who)]) };
}

/** A region's own flag overrides the version's, which applies to regions that are added later. */
function isOffered({ excludeFromLatest, regions }: GalleryVersion, offered: boolean): boolean {
  const flags = [
    excludeFromLatest,
    ...regions.map((region) => region.excludeFromLatest ?? excludeFromLatest),
  ];
  return flags.every((excluded) => excluded !== offered);
}
