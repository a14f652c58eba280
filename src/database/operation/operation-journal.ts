// Operations as they are recorded, for the interpreter that runs them. Frequent writes are one statement each:
// the change, its event and, when the caller does not need it on disk, the waiver of the flush.
import { type Expression, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Journal, JournalWrite, OperationRecord } from '../../ports/workflow/operation.ts';
import type { Database } from '../connection/database.ts';
import { sqlState } from '../connection/errors.ts';
import { storableText, toJson } from '../connection/json.ts';
import { lockName } from '../connection/locks.ts';
import type { Tables } from '../connection/tables.ts';
import { type OperationRow, operationColumns, stepColumns, toOperation, toOperationRow } from './rows.ts';

const endedStates = ['succeeded', 'failed', 'cancelled'] as const;

export function createJournal(database: Database): Journal {
  return {
    create(request, at) {
      return database.write(async ({ tables, emit }) => {
        const key = request.key ?? request.subject;
        await lockName('operation-key', key).execute(tables);
        const existing = await readOperation(tables, request.id);
        if (existing !== undefined) return existing;
        if (request.whenBusy === 'refuse') await refuseBusy(tables, key);
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

    async update(id, change, options) {
      const columns = operationColumns(change);
      if (Object.keys(columns).length === 0) return;
      const onlyProgress = Object.keys(columns).every((column) => column === 'progress');
      const changed = await database.writeOnce((tables) =>
        tables
          .with('changed', (query) =>
            query
              .updateTable('operations')
              .set(columns)
              .where('id', '=', id)
              .returning(['id', 'state', 'current_step', 'progress']),
          )
          .selectFrom('changed')
          .select([
            flushWaiver(options).as('flush'),
            addEvent(
              onlyProgress ? 'operation.progress' : 'operation.state',
              sql`changed.id`,
              sql`json_strip_nulls(json_build_object(
                'state', state, 'currentStep', current_step, 'progress', progress))`,
            ).as('event'),
          ])
          .executeTakeFirst(),
      );
      if (changed === undefined) throw operationNotFound(id);
    },

    async updateStep(id, step, change, options) {
      const columns = stepColumns(change);
      if (Object.keys(columns).length === 0) return;
      const changed = await database.writeOnce((tables) =>
        tables
          .with('changed', (query) =>
            query
              .updateTable('steps')
              .set(columns)
              .where('operation', '=', id)
              .where('name', '=', step)
              .returning(['operation', 'name', 'state', 'attempts']),
          )
          .selectFrom('changed')
          .select([
            flushWaiver(options).as('flush'),
            addEvent(
              'operation.step',
              sql`changed.operation`,
              sql`json_build_object('step', name, 'state', state, 'attempts', attempts)`,
            ).as('event'),
          ])
          .executeTakeFirst(),
      );
      if (changed !== undefined) return;
      const known = await database.read((tables) => readOperation(tables, id));
      if (known === undefined) throw operationNotFound(id);
      throw new ImagoError('operation-unknown-step', `Operation ${id} has no step ${step}.`);
    },

    async log(id, at, lines) {
      if (lines.length === 0) return;
      const stored = lines.map(storableText);
      const time = new Date(at).toISOString();
      await database
        .writeOnce((tables) =>
          tables
            .with('added', (query) =>
              query
                .insertInto('operation_logs')
                .columns(['operation', 'at', 'line'])
                .expression(
                  sql`select ${id}, ${time}::timestamptz, line from unnest(${stored}::text[]) as l (line)`,
                )
                .returning('id'),
            )
            .with('counted', (query) => query.selectFrom('added').select(sql`count(*)`.as('lines')))
            .selectFrom('counted')
            .select([
              flushWaiver({ durable: false }).as('flush'),
              addEvent('operation.log', sql`${id}`, sql`${toJson({ lines: stored })}::json`).as('event'),
            ])
            .execute(),
        )
        .catch((error) => {
          throw sqlState(error) === '23503' ? operationNotFound(id) : error;
        });
    },

    live: () =>
      database.read(async (tables) => {
        const rows = await tables
          .selectFrom('operations')
          .selectAll()
          .where('state', 'not in', endedStates)
          .orderBy('seq')
          .execute();
        return withSteps(tables, rows);
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

async function refuseBusy(tables: Transaction<Tables>, key: string): Promise<void> {
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

function addEvent(
  type: string,
  operation: Expression<unknown>,
  data: Expression<unknown>,
): RawBuilder<number> {
  return sql<number>`imago.add_event(${type}::text, 'operation/' || ${operation}, ${data})`;
}

/** PostgreSQL looks at the setting when it commits, so it can be waived from within the statement. */
function flushWaiver({ durable = true }: JournalWrite = {}): RawBuilder<string | null> {
  return durable ? sql<null>`null` : sql<string>`set_config('synchronous_commit', 'off', true)`;
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
