// Withdrawals on PostgreSQL: asked for, due, passed on, lifted.
import { type Kysely, type Selectable, sql } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseTime, toIso } from '../../domain/value/time.ts';
import { checkReason, isInForce } from '../../domain/withdrawal/withdrawal.ts';
import type { WithdrawalOutcome, Withdrawals, WithdrawRequest } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { CatalogueContext } from '../catalog/context.ts';
import { lockImage, requireVersion } from '../catalog/lookup.ts';
import { toMove } from '../catalog/rows.ts';
import type { Change } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { Tables, WithdrawalsTable } from '../connection/tables.ts';
import { lineFrom } from '../lineage/rows.ts';
import { applyWithdrawal, readFallbacks, readTargets } from './apply.ts';
import { restoreVersion } from './restore.ts';
import { findAsked, readWithdrawals, toWithdrawal } from './rows.ts';

type Row = Selectable<WithdrawalsTable>;

export function createWithdrawals(context: CatalogueContext, now: () => number): Withdrawals {
  const { database } = context;

  async function applyOne(id: number): Promise<WithdrawalOutcome | undefined> {
    return database.write(async (change) => {
      const row = await change.tables
        .selectFrom('withdrawals')
        .selectAll()
        .where('id', '=', id)
        .where('lifted_at', 'is', null)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const applied = await applyWithdrawal(context, change, row);
      const after = { ...row, applied_at: row.applied_at ?? context.stamp() };
      return { withdrawal: toWithdrawal(after), ...applied };
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
        const row = await ask(context, change, { ...request, reason }, now());
        if (Date.parse(row.effective_at) > now()) {
          return { withdrawal: toWithdrawal(row), versions: [], moves: [] };
        }
        const applied = await applyWithdrawal(context, change, row);
        return { withdrawal: { ...toWithdrawal(row), appliedAt: context.stamp() }, ...applied };
      }),

    due: async () => {
      const rows = await database.read((tables) => readDue(tables, toIso(new Date(now()))));
      return rows.map(toWithdrawal);
    },
    apply: applyOne,
    restore: (name, change) => restoreVersion(context, name, change),
    async get(id) {
      const row = await database.read((tables) =>
        tables.selectFrom('withdrawals').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row === undefined ? undefined : toWithdrawal(row);
    },
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
        ({ versions, nodes, ...row }) => ({ ...toWithdrawal(row), versions, nodes }),
      );
    },
  };
}

async function ask(
  context: CatalogueContext,
  { tables, emit }: Change,
  request: WithdrawRequest,
  now: number,
): Promise<Row> {
  const at = context.stamp();
  const wanted = request.at === undefined ? now : parseTime(request.at).getTime();
  const row = await tables
    .insertInto('withdrawals')
    .values({
      image: request.image,
      version: request.version,
      reason: request.reason,
      with_descendants: request.withDescendants,
      effective_at: toIso(new Date(Math.max(wanted, now))),
      asked_by: request.by,
      operation: request.operation,
      at,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const { image, version, reason, by } = request;
  emit({
    type: 'withdrawal.asked',
    subject: `image/${image}`,
    data: { version, reason, by, effectiveAt: row.effective_at, withDescendants: request.withDescendants },
  });
  return row;
}

async function refuseDeleted(tables: Kysely<Tables>, { image, version }: VersionName): Promise<void> {
  const row = await requireVersion(tables, image, version);
  if (row.state !== 'deleted') return;
  throw new ImagoError('version-state', `${image}:${version} was deleted: there is nothing to withdraw.`);
}

/** One that is in force already and reaches as far: asking for it again adds nothing. */
async function sameInForce(tables: Kysely<Tables>, request: WithdrawRequest): Promise<Row | undefined> {
  const rows = await tables
    .selectFrom('withdrawals')
    .selectAll()
    .where('image', '=', request.image)
    .where('version', '=', request.version)
    .where('cause', 'is', null)
    .where('lifted_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.find(
    (row) => isInForce(toWithdrawal(row)) && (row.with_descendants || !request.withDescendants),
  );
}

/** What the first call did, read back. */
async function repeated(tables: Kysely<Tables>, row: Row): Promise<WithdrawalOutcome> {
  const versions = await sql<VersionName & { digest: string }>`
    select v.image, v.version, v.digest from imago.withdrawals w join imago.versions v using (image, version)
    where (w.id = ${row.id} or w.cause = ${row.id}) and w.applied_at is not null and w.lifted_at is null
    order by w.cause nulls first, w.id`.execute(tables);
  const moves = await tables
    .selectFrom('channel_moves')
    .selectAll()
    .where('operation', '=', row.operation)
    .where('image', 'in', [row.image, ...versions.rows.map(({ image }) => image)])
    .orderBy('id')
    .execute();
  return { withdrawal: toWithdrawal(row), versions: versions.rows, moves: moves.map(toMove) };
}

/** Those whose time has come, and those in force that something was made from since. */
async function readDue(tables: Kysely<Tables>, now: string): Promise<readonly Row[]> {
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
  return due.rows;
}
