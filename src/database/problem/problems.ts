// Problems on PostgreSQL.
import { type Selectable, sql } from 'kysely';
import type { FoundProblem, ProblemRecord } from '../../domain/problem/problem.ts';
import { toIso } from '../../domain/value/time.ts';
import type { Problems } from '../../ports/database/problems.ts';
import type { Change, Database } from '../connection/database.ts';
import { optional, storableText } from '../connection/json.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { ProblemsTable } from '../connection/tables.ts';

const operationSource = 'operations';
const repaired = 'A later check found it repaired.';

export function createProblems(database: Database, { now }: { readonly now: () => number }): Problems {
  const time = () => toIso(new Date(now()));

  async function open({ tables, emit }: Change, source: string, found: FoundProblem): Promise<void> {
    const { kind, subject } = found;
    const message = storableText(found.message).slice(0, 4_000);
    const seen = { message, hint: found.hint ?? null, last_at: time() };
    const row = await tables
      .insertInto('problems')
      .values({ source, kind, subject, ...seen, count: 1, first_at: seen.last_at })
      .onConflict((conflict) =>
        conflict
          .columns(['source', 'kind', 'subject'])
          .where('resolved_at', 'is', null)
          .doUpdateSet((set) => ({ ...seen, count: set('problems.count', '+', 1) })),
      )
      .returning(['id', 'count'])
      .executeTakeFirstOrThrow();
    if (row.count === 1) emit(opened(row.id, kind, subject, message));
  }

  async function close({ tables, emit }: Change, id: number, by: string, reason: string): Promise<void> {
    const row = await tables
      .updateTable('problems')
      .set({ resolved_at: time(), resolved_by: by, reason: storableText(reason) })
      .where('id', '=', id)
      .where('resolved_at', 'is', null)
      .returning(['kind', 'subject'])
      .executeTakeFirst();
    if (row === undefined) return;
    emit({
      type: 'problem.resolved',
      subject: row.subject,
      data: { problem: id, kind: row.kind, by, reason },
    });
  }

  const openRows = (source: string) =>
    database.read((tables) =>
      tables
        .selectFrom('problems')
        .selectAll()
        .where('source', '=', source)
        .where('resolved_at', 'is', null)
        .orderBy('id')
        .execute(),
    );
  const find = (id: number) =>
    database.read((tables) =>
      tables.selectFrom('problems').selectAll().where('id', '=', id).executeTakeFirst(),
    );

  return {
    report: (source, found) => database.write((change) => open(change, source, found)),

    async sync(source, found) {
      const current = new Map(found.map((one) => [`${one.kind} ${one.subject}`, one]));
      const gone = (await openRows(source)).filter(({ kind, subject }) => !current.has(`${kind} ${subject}`));
      if (gone.length === 0 && current.size === 0) return;
      await database.write(async (change) => {
        for (const one of current.values()) await open(change, source, one);
        for (const { id } of gone) await close(change, id, 'imago', repaired);
      });
    },

    async repaired(source, subject) {
      const gone = (await openRows(source)).filter((row) => row.subject === subject);
      if (gone.length === 0) return;
      await database.write(async (change) => {
        for (const { id } of gone) await close(change, id, 'imago', repaired);
      });
    },

    syncOperations: () =>
      database.write(async (change) => {
        const { tables } = change;
        const failed = await sql<{ id: string; kind: string; subject: string; exceptions: string }>`
          select id, kind, subject, exceptions from imago.operations o
          where exceptions::text <> '[]' and ended_at is not null and not exists (
            select from imago.problems p where p.source = ${operationSource} and p.subject = 'operation/' || o.id)
          order by seq limit 100`.execute(tables);
        for (const { id, kind, subject, exceptions } of failed.rows) {
          const message = `Operation ${kind} of ${subject} could not be undone: ${JSON.parse(exceptions).join(' ')}`;
          const hint = `See \`imago op show ${id}\`, repair it, then run \`imago problem resolve\`.`;
          await open(change, operationSource, {
            ...{ kind: 'operation-not-undone', subject: `operation/${id}`, message, hint },
          });
        }
        const retried = await sql<{ id: number; retry: string }>`
          select p.id, o.id as retry from imago.problems p join imago.operations o
            on p.subject = 'operation/' || o.retry_of and o.state = 'succeeded'
          where p.source = ${operationSource} and p.resolved_at is null`.execute(tables);
        for (const { id, retry } of retried.rows) {
          await close(change, id, 'imago', `Its retry ${retry} succeeded.`);
        }
      }),

    openOf: async (source) => (await openRows(source)).map(toProblem),

    async list(query) {
      const before = readCursor<[number]>('problems', query, ['number']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('problems').selectAll();
        if (query.subject !== undefined) found = found.where('subject', '=', query.subject);
        if (query.all !== true) found = found.where('resolved_at', 'is', null);
        if (before !== undefined) found = found.where('id', '<', before[0]);
        return found.orderBy('id', 'desc').limit(rowsToRead(query)).execute();
      });
      return toPage('problems', query, rows, ({ id }) => [id], toProblem);
    },

    async get(id) {
      const row = await find(id);
      return row && toProblem(row);
    },

    async resolve(id, by, reason) {
      await database.write((change) => close(change, id, by, reason));
      const row = await find(id);
      return row && toProblem(row);
    },

    async trim(before) {
      await database.writeOnce((tables) =>
        sql`delete from imago.problems p where resolved_at < ${before} and not exists (
          select from imago.operations o where p.subject = 'operation/' || o.id)`.execute(tables),
      );
    },
  };
}

function opened(id: number, kind: string, subject: string, message: string) {
  return { type: 'problem.opened', subject, data: { problem: id, kind, message } };
}

function toProblem(row: Selectable<ProblemsTable>): ProblemRecord {
  const { id, kind, subject, message, count } = row;
  return {
    ...{ id, kind, subject, message, ...optional('hint', row.hint), count },
    ...{ firstAt: row.first_at, lastAt: row.last_at, ...optional('resolvedAt', row.resolved_at) },
    ...{ ...optional('resolvedBy', row.resolved_by), ...optional('reason', row.reason) },
  };
}
