// Operations as they are recorded, for the interpreter that runs them. Frequent writes are one statement each.
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Journal, OperationRecord } from '../../ports/workflow/operation.ts';
import type { Database } from '../connection/database.ts';
import { sqlState } from '../connection/errors.ts';
import { optional, storableText, toJson } from '../connection/json.ts';
import { lockName } from '../connection/locks.ts';
import { planOnce } from '../connection/pool.ts';
import type { Tables } from '../connection/tables.ts';
import {
  childColumns,
  type OperationRow,
  storedChange,
  toChildState,
  toOperation,
  toOperationRow,
} from './rows.ts';

const endedStates = ['succeeded', 'failed', 'cancelled'] as const;
const isLive = sql`o.state not in ('succeeded', 'failed', 'cancelled')`;

export function createJournal(database: Database): Journal {
  return {
    create(request, at) {
      return database.write(async ({ tables, emit }) => {
        const key = request.key ?? request.subject;
        await lockName('operation-key', key).execute(tables);
        const existing = await readOperation(tables, request.id);
        if (existing !== undefined) return existing;
        if (request.whenBusy === 'refuse') await requireFree(tables, key);
        const row = await tables
          .insertInto('operations')
          .values(toOperationRow(request, at))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) return requireOperation(await readOperation(tables, request.id), request.id);
        await addSteps(tables, request.id, request.steps);
        emit({ type: 'operation.state', subject: `operation/${row.id}`, data: { state: row.state } });
        return requireOperation(await readOperation(tables, request.id), request.id);
      });
    },

    get: (id) => database.read((tables) => readOperation(tables, id)),

    childStates: (parent) =>
      database.read(async (tables) => {
        const rows = tables.selectFrom('operations').select(childColumns).where('parent', '=', parent);
        return (await rows.orderBy('seq').execute()).map(toChildState);
      }),

    async update(id, { steps = {}, ...change }, { durable = true } = {}) {
      const fields = Object.keys(change);
      const changed = Object.keys(steps);
      if (fields.length + changed.length === 0) return;
      const isOnlyProgress = fields.every((field) => field === 'progress');
      const found = await database.writeOnce((tables) =>
        changeStatement({
          ...{ id, durable },
          type: isOnlyProgress ? 'operation.progress' : 'operation.state',
          operation: fields.length === 0 ? null : storedChange(change),
          steps: `[${Object.entries(steps).map(([name, step]) => storedChange(step, name))}]`,
        }).execute(tables),
      );
      database.announce();
      const { operations = 0, updated = 0 } = found.rows[0] ?? {};
      if (updated === changed.length && (operations > 0 || fields.length === 0)) return;
      const known = await database.read((tables) => readOperation(tables, id));
      if (known === undefined) throw operationNotFound(id);
      const unknown = changed.filter((name) => known.steps.every((step) => step.name !== name));
      throw new ImagoError('operation-unknown-step', `Operation ${id} has no step ${unknown.join(', ')}.`);
    },

    async log(id, at, lines) {
      if (lines.length === 0) return;
      const stored = lines.map(storableText);
      const time = new Date(at).toISOString();
      await database
        .writeOnce((tables) =>
          sql`${planOnce}
            with added as (
              insert into imago.operation_logs (operation, at, line)
              select ${id}, ${time}::timestamptz, line from unnest(${stored}::text[]) as l (line) returning id)
            select set_config('synchronous_commit', 'off', true), imago.add_events(
              array['operation.log'], array['operation/' || ${id}::text], array[${toJson({ lines: stored })}::json])
            from (select count(*) from added) counted`.execute(tables),
        )
        .catch((error) => {
          throw sqlState(error) === '23503' ? operationNotFound(id) : error;
        });
      database.announce();
    },

    live: () =>
      database.read(async (tables) => {
        const rows = await tables
          .selectFrom('operations')
          .select(['id', 'key', 'state', 'cancel_requested_by'])
          .where('state', 'not in', endedStates)
          .orderBy('seq')
          .execute();
        return rows.map(({ cancel_requested_by, ...row }) => ({
          ...row,
          ...optional('cancelRequestedBy', cancel_requested_by),
        }));
      }),

    requireFree: (key) => database.read((tables) => requireFree(tables, key)),

    isAwaitedUnder: (key, id) =>
      database.read(async (tables) => {
        // Goes back from the operation to those that wait for it. A key is a row of its own, so that a long queue is
        // read only one time, and not once for each operation in it.
        const found = await sql<{ awaited: boolean }>`
          with recursive waiting (id, key) as (
            select ${id}::text, null::text
            union
            select found.id, found.key from waiting, lateral (
              select null as id, o.key from imago.operations o where o.id = waiting.id and ${isLive}
              union all
              select o.parent, null from imago.operations o
              where o.id = waiting.id and o.parent is not null and ${isLive}
              union all
              select o.id, null from imago.operations o
              where o.key = waiting.key and o.state = 'queued' and ${isLive}
            ) found)
          select exists (select from waiting where key = ${key}) as awaited`.execute(tables);
        return found.rows[0]?.awaited === true;
      }),

    isHeldBy: (key, id) =>
      database.read(async (tables) => {
        const found = await sql<{ held: boolean }>`
          with recursive above (id, key, parent) as (
            select id, key, parent from imago.operations where id = ${id}
            union all
            select o.id, o.key, o.parent from imago.operations o join above on o.id = above.parent)
          select exists (select from above where key = ${key}) as held`.execute(tables);
        return found.rows[0]?.held === true;
      }),

    requestCancel(id, by) {
      return database.write(async ({ tables, emit }) => {
        const marked = await tables
          .updateTable('operations')
          .set({ cancel_requested_by: by })
          .where('id', '=', id)
          .where('cancel_requested_by', 'is', null)
          .where('state', 'not in', endedStates)
          .returning('state')
          .executeTakeFirst();
        if (marked !== undefined) {
          const data = { state: marked.state, cancelRequestedBy: by };
          emit({ type: 'operation.state', subject: `operation/${id}`, data });
        } else if ((await readOperation(tables, id)) === undefined) throw operationNotFound(id);
      });
    },
  };
}

/** The records of these rows, in their order. */
export async function withSteps(
  tables: Kysely<Tables>,
  rows: readonly OperationRow[],
): Promise<readonly OperationRecord[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const steps = await tables
    .selectFrom('steps')
    .selectAll()
    .where('operation', '=', sql<string>`any(${ids}::text[])`)
    .orderBy('position')
    .execute();
  const byOperation = Map.groupBy(steps, ({ operation }) => operation);
  return rows.map((row) => toOperation(row, byOperation.get(row.id) ?? []));
}

async function readOperation(tables: Kysely<Tables>, id: string): Promise<OperationRecord | undefined> {
  const row = await tables.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : (await withSteps(tables, [row]))[0];
}

async function requireFree(tables: Kysely<Tables>, key: string): Promise<void> {
  const other = await tables
    .selectFrom('operations')
    .select(['id', 'kind', 'requested_by'])
    .where('key', '=', key)
    .where('state', 'not in', endedStates)
    .orderBy('seq')
    .executeTakeFirst();
  if (other === undefined) return;
  throw new ImagoError(
    'operation-busy',
    `Operation ${other.id} (${other.kind}, asked for by ${other.requested_by}) holds ${key}.`,
    { details: { operation: other.id, key } },
  );
}

async function addSteps(tables: Transaction<Tables>, id: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const rows = names.map((name, position) => ({ operation: id, position, name }));
  await tables.insertInto('steps').values(rows).execute();
}

interface ChangeValues {
  readonly id: string;
  readonly type: string;
  /** As `storedChange` gives it; `null` when only steps change. */
  readonly operation: string | null;
  readonly steps: string;
  readonly durable: boolean;
}

/**
 * The changes of an operation and its steps, and their events, in one statement. PostgreSQL looks at
 * `synchronous_commit` when it commits, so the statement itself can waive the wait for the disk.
 */
function changeStatement({ id, type, operation, steps, durable }: ChangeValues) {
  return sql<{ operations: number; updated: number }>`${planOnce}
    with changed_steps as (
      update imago.steps s set
        state = coalesce(g.state, s.state),
        attempts = coalesce(g.attempts, s.attempts),
        started_at = ${changedColumn('startedAt', 's.started_at')},
        ended_at = ${changedColumn('endedAt', 's.ended_at')},
        result = ${changedColumn('result', 's.result')},
        error = ${changedColumn('error', 's.error')}
      from json_to_recordset(${steps}::json) as g (name text, state text, attempts integer,
        "startedAt" timestamptz, "endedAt" timestamptz, result text, error text, cleared text[])
      where s.operation = ${id} and s.name = g.name
      returning s.*),
    changed as (
      update imago.operations o set
        state = coalesce(g.state, o.state),
        current_step = ${changedColumn('currentStep', 'o.current_step')},
        progress = ${changedColumn('progress', 'o.progress')},
        result = ${changedColumn('result', 'o.result')},
        error = ${changedColumn('error', 'o.error')},
        exceptions = coalesce(g.exceptions::json, o.exceptions),
        started_at = ${changedColumn('startedAt', 'o.started_at')},
        ended_at = ${changedColumn('endedAt', 'o.ended_at')}
      from json_to_record(${operation}::json) as g (state text, "currentStep" text, progress text, result text,
        error text, exceptions text, "startedAt" timestamptz, "endedAt" timestamptz, cleared text[])
      where o.id = ${id} and ${operation}::json is not null
      returning o.*),
    reported (place, type, data) as (
      select position, 'operation.step', json_strip_nulls(json_build_object('step', name, 'state', state,
        'attempts', attempts, 'startedAt', ${isoTime('started_at')}, 'endedAt', ${isoTime('ended_at')}))
      from changed_steps
      union all
      select 2147483647, ${type}, json_strip_nulls(json_build_object(
        'state', state, 'currentStep', current_step, 'progress', progress))
      from changed
      union all
      select 2147483648, 'operation.failed', json_build_object('kind', kind, 'subject', subject, 'by', requested_by,
        'code', error->>'code', 'message', error->>'message')
      from changed where ${operation}::json->>'state' = 'failed' and parent is null)
    select (select count(*) from changed) as operations, (select count(*) from changed_steps) as updated,
      case when not ${durable}::boolean then set_config('synchronous_commit', 'off', true) end,
      (select imago.add_events(array_agg(type order by place), array_agg('operation/' || ${id}::text),
        array_agg(data order by place)) from reported)`;
}

/** The new value of a column, if the change `g` has the field. */
function changedColumn(field: string, column: string): RawBuilder<unknown> {
  const isJson = ['progress', 'result', 'error'].includes(field);
  const given = isJson ? sql`${sql.ref(`g.${field}`)}::json` : sql.ref(`g.${field}`);
  return sql`case when ${sql.lit(field)} = any(g.cleared) then null else coalesce(${given}, ${sql.ref(column)}) end`;
}

function isoTime(column: string): RawBuilder<unknown> {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

function requireOperation(operation: OperationRecord | undefined, id: string): OperationRecord {
  if (operation === undefined) throw operationNotFound(id);
  return operation;
}

function operationNotFound(id: string): ImagoError {
  return new ImagoError('operation-not-found', `There is no operation ${id}.`, {
    hint: 'See `imago op list`.',
  });
}
