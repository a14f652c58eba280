// Numbers, versions and their states. A number that was taken stays taken, whatever becomes of its version.
import type { Kysely, Selectable } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { requireSameKind } from '../../domain/image/simulated.ts';
import type { Origin, VersionRecord } from '../../domain/image/version.ts';
import { parseNumber } from '../../domain/image/version-number.ts';
import {
  checkStateChange,
  type RestorableState,
  type VersionState,
} from '../../domain/image/version-state.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import { toJson } from '../connection/json.ts';
import type { Tables, VersionsTable } from '../connection/tables.ts';
import { moveLatest } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence } from './evidence.ts';
import { findVersion, lockImage, requireVersion } from './lookup.ts';
import { toImage, toVersion } from './rows.ts';

type NewVersion = Parameters<Catalogue['addVersion']>[0];
type StateReason = Parameters<Catalogue['setVersionState']>[3];

export function reserveNumber(
  { database, stamp }: CatalogueContext,
  image: string,
  operation: string,
  choose: (used: readonly string[]) => string,
): Promise<string> {
  return database.write(async ({ tables }) => {
    await lockImage(tables, image);
    const taken = await tables
      .selectFrom('numbers')
      .select(['number', 'operation', 'reserved'])
      .where('image', '=', image)
      .execute();
    const mine = taken.find((row) => row.reserved && row.operation === operation);
    if (mine !== undefined) return mine.number;
    const number = choose(taken.map((row) => row.number));
    parseNumber(number);
    if (taken.some((row) => row.number === number)) throw numberTaken(image, number);
    await tables
      .insertInto('numbers')
      .values({ image, number, operation, reserved: true, at: stamp() })
      .execute();
    return number;
  });
}

export async function addVersion(context: CatalogueContext, version: NewVersion): Promise<VersionRecord> {
  const { image, version: number, digest, operation } = version;
  parseNumber(number);
  return context.database.write(async ({ tables, emit }) => {
    const line = await lockImage(tables, image);
    const known = await findVersion(tables, image, number);
    if (known !== undefined) {
      if (known.digest !== digest) throw numberTaken(image, number, known.digest);
      return toVersion(known);
    }
    requireSameKind(toImage(line), version.simulated);
    await claimNumber(context, tables, version);
    const last = await tables
      .selectFrom('versions')
      .select('created_at')
      .where('image', '=', image)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    const row = await tables
      .insertInto('versions')
      .values({
        image,
        version: number,
        digest,
        disk_digest: version.diskDigest,
        size_bytes: version.sizeBytes,
        state: 'candidate',
        origin: toJson({ ...version.origin }),
        lock_digest: lockDigestOf(version.origin),
        kubernetes: version.kubernetes ?? null,
        restricted: version.restricted ?? false,
        simulated: version.simulated ?? false,
        operation,
        created_at: context.stamp(last?.created_at),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    emit({ type: 'version.added', subject: `image/${image}`, data: { version: number, digest } });
    return toVersion(row);
  });
}

/** The number must be new, or reserved by this very operation and never have stood for other content. */
async function claimNumber(
  { stamp }: CatalogueContext,
  tables: Kysely<Tables>,
  { image, version: number, digest, operation }: NewVersion,
): Promise<void> {
  const taken = await tables
    .selectFrom('numbers')
    .select(['operation', 'digest'])
    .where('image', '=', image)
    .where('number', '=', number)
    .executeTakeFirst();
  if (taken === undefined) {
    await tables
      .insertInto('numbers')
      .values({ image, number, operation, reserved: false, digest, at: stamp() })
      .execute();
    return;
  }
  if (taken.operation !== operation) throw numberTaken(image, number);
  if (taken.digest === digest) return;
  if (taken.digest !== null) throw numberTaken(image, number, taken.digest);
  await tables
    .updateTable('numbers')
    .set({ digest })
    .where('image', '=', image)
    .where('number', '=', number)
    .execute();
}

export function dropVersion({ database }: CatalogueContext, image: string, version: string): Promise<void> {
  return database.write(async ({ tables, emit }) => {
    const known = await findVersion(tables, image, version);
    if (known === undefined) return;
    await lockImage(tables, image);
    const row = await findVersion(tables, image, version);
    if (row === undefined) return;
    if (row.state !== 'candidate') {
      throw new ImagoError(
        'version-state',
        `${image}:${version} is ${row.state}: only a candidate is taken back.`,
      );
    }
    await refuseNamed(tables, row, 'ever');
    await tables.deleteFrom('versions').where('image', '=', image).where('version', '=', version).execute();
    emit({ type: 'version.dropped', subject: `image/${image}`, data: { version } });
  });
}

export function setVersionState(
  context: CatalogueContext,
  image: string,
  version: string,
  to: VersionState,
  change: StateReason,
): Promise<VersionRecord> {
  return context.database.write(async (transaction) => {
    const { tables, emit } = transaction;
    await lockImage(tables, image);
    const row = await requireVersion(tables, image, version);
    const before = toVersion(row);
    const evidence = to === 'available' ? await listEvidence(tables, row.digest) : [];
    if (!checkStateChange(before, to, { ...change, evidence })) return before;
    if (to === 'deleted') await refuseNamed(tables, row, 'now');
    const changed = await tables
      .updateTable('versions')
      .set({
        state: to,
        reason: change.reason ?? null,
        withdrawn_from: to === 'withdrawn' ? restorable(row.state) : null,
      })
      .where('image', '=', image)
      .where('version', '=', version)
      .returningAll()
      .executeTakeFirstOrThrow();
    const why = change.reason ?? `${image}:${version} became ${to}`;
    await moveLatest(context, transaction, image, { by: change.by, why });
    emit({
      type: 'version.state',
      subject: `image/${image}`,
      data: { version, state: to, before: row.state, reason: change.reason },
    });
    return toVersion(changed);
  });
}

/** Rule 7: what a channel, pool or node needs stays. `ever` also counts what named it in the past. */
async function refuseNamed(
  tables: Kysely<Tables>,
  { image, version }: Selectable<VersionsTable>,
  when: 'now' | 'ever',
): Promise<void> {
  const channel = await tables
    .selectFrom('channels')
    .select('name')
    .where('image', '=', image)
    .where('version', '=', version)
    .executeTakeFirst();
  const move = await tables
    .selectFrom('channel_moves')
    .select('channel as name')
    .where('image', '=', image)
    .where('to_version', '=', version)
    .limit(1)
    .executeTakeFirst();
  const pool = await tables
    .selectFrom('pools')
    .select('name')
    .where('image', '=', image)
    .where('version', '=', version)
    .limit(1)
    .executeTakeFirst();
  const node = await tables
    .selectFrom('nodes')
    .select('name')
    .where('image', '=', image)
    .where('version', '=', version)
    .$if(when === 'now', (rows) => rows.where('ended_at', 'is', null))
    .limit(1)
    .executeTakeFirst();
  const named = { channel: channel ?? (when === 'ever' ? move : undefined), pool, node };
  for (const [thing, found] of Object.entries(named)) {
    if (found === undefined) continue;
    throw new ImagoError('version-state', `${image}:${version} is needed by the ${thing} ${found.name}.`);
  }
}

function restorable(state: VersionState): RestorableState | null {
  return state === 'withdrawn' || state === 'deleted' ? null : state;
}

function lockDigestOf(origin: Origin): string | null {
  return origin.kind === 'built' ? origin.lockDigest : null;
}

function numberTaken(image: string, number: string, digest?: string): ImagoError {
  const holder = digest === undefined ? '' : ` by ${digest}`;
  return new ImagoError('number-taken', `The number ${image}:${number} was used before${holder}.`);
}
