// Withdrawals on PostgreSQL: asked for, due, passed on, lifted.
import { type Kysely, type Selectable, sql } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseTime, toIso } from '../../domain/value/time.ts';
import type { Withdrawal } from '../../domain/withdrawal/record.ts';
import { checkReason, isInForce } from '../../domain/withdrawal/withdrawal.ts';
import type { WithdrawalOutcome, Withdrawals, WithdrawRequest } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { CatalogueContext } from '../catalog/context.ts';
import { lockImage, requireVersion } from '../catalog/lookup.ts';
import { moves, withdrawals } from '../catalog/records.ts';
import type { Change } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { Tables, WithdrawalsTable } from '../connection/tables.ts';
import { lineFrom } from '../lineage/rows.ts';
import { applyWithdrawal, readFallbacks, readTargets } from './apply.ts';
import { restoreVersion } from './restore.ts';
import { findAsked, readWithdrawals } from './rows.ts';

type Row = Selectable<WithdrawalsTable>;

export function createWithdrawals(context: CatalogueContext, now: () => number): Withdrawals {
  const { database } = context;

  async function applyOne(id: number): Promise<WithdrawalOutcome | undefined> {
    return database.write(async (change) => {
      const asked = await withdrawals.find(change.tables, { id, lifted_at: null }, 'lock');
      if (asked === undefined) return undefined;
      const applied = await applyWithdrawal(context, change, asked);
      return { withdrawal: { ...asked, appliedAt: asked.appliedAt ?? context.stamp() }, ...applied };
    });
  }

  return {
    async plan({ image, version, withDescendants }) {
      return database.read(async (tables) => {
        await refuseDeleted(tables, { image, version });
        const targets = await readTargets(tables, { image, version }, withDescendants);
        return {
          versions: targets.map(({ image, version, state }) => ({ image, version, state })),
          fallbacks: await readFallbacks(tables, targets),
        };
      });
    },

    withdraw: (request) =>
      database.write(async (change) => {
        const { tables } = change;
        const reason = checkReason(`${request.image}:${request.version}`, request.reason);
        await lockImage(tables, request.image);
        const known = await findAsked(tables, request);
        if (known !== undefined) return repeated(tables, known);
        await refuseDeleted(tables, request);
        const same = await sameInForce(tables, request);
        if (same !== undefined) return repeated(tables, same);
        const asked = await ask(context, change, { ...request, reason }, now());
        if (Date.parse(asked.effectiveAt) > now()) return { withdrawal: asked, versions: [], moves: [] };
        const applied = await applyWithdrawal(context, change, asked);
        return { withdrawal: { ...asked, appliedAt: context.stamp() }, ...applied };
      }),

    due: () => database.read((tables) => readDue(tables, toIso(new Date(now())))),
    apply: applyOne,
    restore: (name, change) => restoreVersion(context, name, change),
    get: (id) => database.read((tables) => withdrawals.find(tables, { id })),
    of: (name) => database.read((tables) => readWithdrawals(tables, name)),

    async list(image, query) {
      const before = readCursor<[number]>('withdrawals', query, ['number']);
      const found = await database.read((tables) =>
        sql<Row & { versions: number; nodes: number }>`
          select w.*, heirs.versions + 1 as versions, heirs.nodes
          from imago.withdrawals w, lateral (
            select count(*) filter (where out.cause is not null) as versions,
              coalesce(sum((select count(*) from imago.nodes n
                where n.image = out.image and n.version = out.version and n.ended_at is null)), 0)::bigint as nodes
            from imago.withdrawals out where (out.id = w.id or out.cause = w.id) and out.lifted_at is null
          ) heirs
          where w.cause is null and (${image ?? null}::text is null or w.image = ${image ?? null})
            and w.id < ${before?.[0] ?? Number.MAX_SAFE_INTEGER}
          order by w.id desc limit ${rowsToRead(query)}`.execute(tables),
      );
      return toPage(
        'withdrawals',
        query,
        found.rows,
        ({ id }) => [id],
        ({ versions, nodes, ...row }) => ({ ...withdrawals.of(row), versions, nodes }),
      );
    },
  };
}

async function ask(
  context: CatalogueContext,
  { tables, emit }: Change,
  request: WithdrawRequest,
  now: number,
): Promise<Withdrawal> {
  const { image, version, reason, withDescendants, by, operation } = request;
  const wanted = request.at === undefined ? now : parseTime(request.at).getTime();
  const effectiveAt = toIso(new Date(Math.max(wanted, now)));
  const asked = { image, version, reason, withDescendants, effectiveAt, by, operation, at: context.stamp() };
  const withdrawal = await withdrawals.insert(tables, withdrawals.row(asked));
  const data = { version, reason, by, effectiveAt: withdrawal.effectiveAt, withDescendants };
  emit({ type: 'withdrawal.asked', subject: `image/${image}`, data });
  return withdrawal;
}

async function refuseDeleted(tables: Kysely<Tables>, { image, version }: VersionName): Promise<void> {
  const row = await requireVersion(tables, image, version);
  if (row.state !== 'deleted') return;
  throw new ImagoError('version-state', `${image}:${version} was deleted: there is nothing to withdraw.`);
}

/** One that is already active and reaches as far: requesting it again adds nothing. */
async function sameInForce(
  tables: Kysely<Tables>,
  { image, version, withDescendants }: WithdrawRequest,
): Promise<Withdrawal | undefined> {
  const known = await withdrawals.all(tables, { image, version, cause: null, lifted_at: null }, 'id');
  return known.find((one) => isInForce(one) && (one.withDescendants || !withDescendants));
}

/** What the first call did, read back. */
async function repeated(tables: Kysely<Tables>, withdrawal: Withdrawal): Promise<WithdrawalOutcome> {
  const { id, image, operation } = withdrawal;
  const versions = await sql<VersionName & { digest: string }>`
    select v.image, v.version, v.digest from imago.withdrawals w join imago.versions v using (image, version)
    where (w.id = ${id} or w.cause = ${id}) and w.applied_at is not null and w.lifted_at is null
    order by w.cause nulls first, w.id`.execute(tables);
  const images = [image, ...versions.rows.map((version) => version.image)];
  return {
    withdrawal,
    versions: versions.rows,
    moves: await moves.all(tables, { operation, image: images }, 'id'),
  };
}

/** Those whose time has come, and active ones that something was made from since. */
async function readDue(tables: Kysely<Tables>, now: string): Promise<readonly Withdrawal[]> {
  const due = await sql<Row>`
    select w.* from imago.withdrawals w
    where w.cause is null and w.lifted_at is null
      and ((w.applied_at is null and w.effective_at <= ${now}::timestamptz)
        or (w.applied_at is not null and w.with_descendants and exists (
          with recursive ${lineFrom(
            sql`
            select v.image, v.version, v.digest from imago.versions v
            where v.image = w.image and v.version = w.version`,
            sql`w.applied_at`,
          )}
          select from line join imago.versions v using (image, version)
          where v.state <> 'deleted' and not exists (
            select from imago.withdrawals known
            where known.image = line.image and known.version = line.version and known.lifted_at is null
              and known.applied_at is not null))))
    order by w.effective_at, w.id`.execute(tables);
  return due.rows.map(withdrawals.of);
}
