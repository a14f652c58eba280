// Taking versions out of use, within one transaction: their states, what descendants inherit, and every channel
// that pointed at one of them. Either all of it happens, or nothing.
import { type Kysely, sql } from 'kysely';
import {
  type ChannelMove,
  fitToReturn,
  latestChannel,
  type ReturnTarget,
} from '../../domain/channel/channel.ts';
import type { VersionRecord } from '../../domain/image/record.ts';
import type { Withdrawal } from '../../domain/withdrawal/record.ts';
import {
  type ChannelFallback,
  channelFallback,
  standingWithdrawal,
} from '../../domain/withdrawal/withdrawal.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { moveLatest, recordMove } from '../catalog/channels.ts';
import type { CatalogueContext } from '../catalog/context.ts';
import { newestTestFailed } from '../catalog/evidence.ts';
import { lockImage, requireChannel, requireVersion } from '../catalog/lookup.ts';
import { channels as channelRecords, moves as moveRecords, withdrawals } from '../catalog/records.ts';
import type { Change } from '../connection/database.ts';
import type { Tables } from '../connection/tables.ts';
import { nameLists, readLine } from '../lineage/rows.ts';
import { readWithdrawalsOf } from './rows.ts';

/**
 * The version, and with `withDescendants` everything made from it, without what was deleted. `outSince`: a fix that was
 * built from it after it was taken out is not meant.
 */
export async function readTargets(
  tables: Kysely<Tables>,
  name: VersionName,
  withDescendants: boolean,
  outSince?: string,
): Promise<readonly VersionRecord[]> {
  const self = await requireVersion(tables, name.image, name.version);
  const line = withDescendants ? await readLine(tables, name, outSince) : [self];
  return line.filter(({ state }) => state !== 'deleted');
}

/** Locks the images in one order, so that two who withdraw across images do not wait for each other. */
export async function lockImages(change: Change, images: Iterable<string>): Promise<void> {
  for (const image of [...new Set(images)].sort()) await lockImage(change.tables, image);
}

export interface Applied {
  readonly versions: readonly (VersionName & { readonly digest: string })[];
  readonly moves: readonly ChannelMove[];
}

/** Carries out a withdrawal that is recorded. Again it adds only what was made from the version since. */
export async function applyWithdrawal(
  context: CatalogueContext,
  change: Change,
  row: Withdrawal,
): Promise<Applied> {
  const { tables } = change;
  const seen = await readTargets(tables, row, row.withDescendants, row.appliedAt);
  await lockImages(change, [row.image, ...seen.map(({ image }) => image)]);
  const targets = await readTargets(tables, row, row.withDescendants, row.appliedAt);
  const moves = await moveChannels(context, change, targets, row);
  const now = context.stamp();
  if (row.appliedAt === undefined) {
    await withdrawals.update(tables, { id: row.id }, { applied_at: now });
  }
  await inherit(change, row, targets, now);
  await takeOut(change, targets);
  for (const image of new Set(targets.map((target) => target.image))) {
    await moveLatest(context, change, image, author(row));
  }
  return { versions: targets.map(({ image, version, digest }) => ({ image, version, digest })), moves };
}

function author(row: Withdrawal) {
  return { by: row.by, why: `Withdrawn: ${row.reason}`, operation: row.operation };
}

async function inherit(
  { tables }: Change,
  row: Withdrawal,
  targets: readonly VersionRecord[],
  now: string,
): Promise<void> {
  const heirs = targets.filter(({ image, version }) => image !== row.image || version !== row.version);
  if (heirs.length === 0) return;
  await sql`
    insert into imago.withdrawals
      (image, version, cause, reason, with_descendants, effective_at, asked_by, operation, at, applied_at)
    select given.image, given.version, ${row.id}, ${`${row.image}:${row.version} was withdrawn: ${row.reason}`},
      false, ${row.effectiveAt}::timestamptz, ${row.by}, ${row.operation}, ${now}::timestamptz,
      ${now}::timestamptz
    from unnest(${heirs.map(({ image }) => image)}::text[], ${heirs.map(({ version }) => version)}::text[])
      as given (image, version)
    where not exists (
      select from imago.withdrawals known
      where known.cause = ${row.id} and known.image = given.image and known.version = given.version)
  `.execute(tables);
}

/** Sets the states. One that is out already keeps what it was before, and the reason that weighs most. */
async function takeOut({ tables, emit }: Change, targets: readonly VersionRecord[]): Promise<void> {
  const all = await readWithdrawalsOf(tables, targets);
  const reasons = targets.map(({ image, version, reason }) => {
    const standing = standingWithdrawal(all.get(`${image}:${version}`) ?? []);
    return standing?.reason ?? reason ?? null;
  });
  const { images, numbers } = nameLists(targets);
  await sql`
    update imago.versions v set state = 'withdrawn', reason = given.reason,
      withdrawn_from = case when v.state = 'withdrawn' then v.withdrawn_from else v.state end
    from unnest(${images}::text[], ${numbers}::text[], ${reasons}::text[]) as given (image, version, reason)
    where v.image = given.image and v.version = given.version`.execute(tables);
  for (const [index, { image, version, state }] of targets.entries()) {
    if (state === 'withdrawn') continue;
    emit({
      type: 'version.state',
      subject: `image/${image}`,
      data: { version, state: 'withdrawn', before: state, reason: reasons[index] ?? undefined },
    });
  }
}

/** Returns where the channels that point at one of these versions would go. */
export async function readFallbacks(
  tables: Kysely<Tables>,
  targets: readonly VersionRecord[],
): Promise<readonly ChannelFallback[]> {
  const out = new Set(targets.map(({ image, version }) => `${image}:${version}`));
  const fallbacks: ChannelFallback[] = [];
  for (const image of new Set(targets.map((target) => target.image))) {
    const channels = await channelRecords.all(tables, { image, managed: false }, 'name');
    for (const channel of channels) {
      if (channel.name === latestChannel) continue;
      if (channel.version === undefined || !out.has(`${image}:${channel.version}`)) continue;
      const moves = await moveRecords.all(tables, { image, channel: channel.name }, 'id');
      const targetsOf = await readReturnTargets(tables, image, moves);
      fallbacks.push(
        channelFallback(channel, channel.version, moves, (version) => {
          const known = targetsOf.get(version);
          if (known === undefined || out.has(`${image}:${version}`)) return undefined;
          return fitToReturn(channel, known);
        }),
      );
    }
  }
  return fallbacks;
}

async function moveChannels(
  context: CatalogueContext,
  change: Change,
  targets: readonly VersionRecord[],
  row: Withdrawal,
): Promise<readonly ChannelMove[]> {
  const moves: ChannelMove[] = [];
  for (const { image, channel, to } of await readFallbacks(change.tables, targets)) {
    const from = await requireChannel(change.tables, image, channel);
    const target = to === undefined ? undefined : await requireVersion(change.tables, image, to);
    moves.push(await recordMove(context, change, from, target, author(row)));
  }
  return moves;
}

async function readReturnTargets(
  tables: Kysely<Tables>,
  image: string,
  moves: readonly ChannelMove[],
): Promise<ReadonlyMap<string, ReturnTarget>> {
  const named = [...new Set(moves.flatMap(({ to }) => (to === undefined ? [] : [to])))];
  if (named.length === 0) return new Map();
  const rows = await tables
    .selectFrom('versions')
    .select(['version', 'state', 'restricted', newestTestFailed('versions.digest').as('testFailed')])
    .where('image', '=', image)
    .where('version', 'in', named)
    .execute();
  return new Map(rows.map((row) => [row.version, row]));
}
