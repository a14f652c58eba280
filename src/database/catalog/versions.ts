// Numbers, versions and their states. A number that was taken stays taken, whatever becomes of its version.
import type { Kysely } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Origin, VersionRecord } from '../../domain/image/record.ts';
import { requireSameKind } from '../../domain/image/simulated.ts';
import { parseNumber } from '../../domain/image/version-number.ts';
import {
  checkStateChange,
  type RestorableState,
  type VersionState,
} from '../../domain/image/version-state.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import type { Tables } from '../connection/tables.ts';
import { moveLatest } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence } from './evidence.ts';
import { lockImage, readParent, requireVersion } from './lookup.ts';
import { channels, moves, nodes, pools, versions } from './records.ts';

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
  const { image, version: number, digest } = version;
  parseNumber(number);
  return context.database.write(async ({ tables, emit }) => {
    const line = await lockImage(tables, image);
    const known = await versions.find(tables, { image, version: number });
    if (known !== undefined) {
      if (known.digest !== digest) throw numberTaken(image, number, known.digest);
      return known;
    }
    requireSameKind(line, version.simulated);
    await requireLivingParent(tables, version);
    await claimNumber(context, tables, version);
    const last = await versions.last(tables, { image }, 'created_at');
    const createdAt = context.stamp(last?.createdAt);
    const row = versions.row({ ...version, state: 'candidate', createdAt });
    const added = await versions.insert(tables, { ...row, lock_digest: lockDigestOf(version.origin) });
    emit({ type: 'version.added', subject: `image/${image}`, data: { version: number, digest } });
    return added;
  });
}

/** A version whose parent is deleted could not be traced or repaired. */
async function requireLivingParent(tables: Kysely<Tables>, version: NewVersion): Promise<void> {
  const parent = await readParent(tables, version);
  if (parent?.state !== 'deleted') return;
  throw new ImagoError(
    'version-state',
    `${version.image}:${version.version} cannot be added, because its parent ${parent.image}:${parent.version} is deleted.`,
  );
}

/** The number must be new, or reserved by this exact operation and never used for different content. */
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
    const known = await versions.find(tables, { image, version });
    if (known === undefined) return;
    await lockImage(tables, image);
    const row = await versions.find(tables, { image, version });
    if (row === undefined) return;
    if (row.state !== 'candidate') {
      throw new ImagoError(
        'version-state',
        `${image}:${version} is ${row.state}: only a candidate can be dropped.`,
      );
    }
    await refuseNamed(tables, row, 'ever');
    await versions.delete(tables, { image, version });
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
    const before = await requireVersion(tables, image, version);
    const evidence = to === 'available' ? await listEvidence(tables, before.digest) : [];
    if (!checkStateChange(before, to, { ...change, evidence })) return before;
    if (to === 'deleted') await refuseNamed(tables, before, 'now');
    await versions.update(
      tables,
      { image, version },
      {
        state: to,
        reason: change.reason ?? null,
        withdrawn_from: to === 'withdrawn' ? restorable(before.state) : null,
      },
    );
    const why = change.reason ?? `${image}:${version} became ${to}`;
    await moveLatest(context, transaction, image, { by: change.by, why });
    emit({
      type: 'version.state',
      subject: `image/${image}`,
      data: { version, state: to, before: before.state, reason: change.reason },
    });
    return requireVersion(tables, image, version);
  });
}

/** Rule 7: what a channel, pool or node needs stays. `ever` also counts what named it in the past. */
async function refuseNamed(
  tables: Kysely<Tables>,
  { image, version }: VersionRecord,
  when: 'now' | 'ever',
): Promise<void> {
  const past = when === 'ever';
  const channel = await channels.find(tables, { image, version });
  const move = past ? await moves.find(tables, { image, to_version: version }) : undefined;
  const pool = await pools.find(tables, { image, version });
  const node = await nodes.find(tables, { image, version, ...(past ? {} : { ended_at: null }) });
  const named = { channel: channel?.name ?? move?.channel, pool: pool?.name, node: node?.name };
  for (const [thing, name] of Object.entries(named)) {
    if (name === undefined) continue;
    throw new ImagoError('version-state', `${image}:${version} is needed by the ${thing} ${name}.`);
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
