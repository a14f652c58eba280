// Problems on PostgreSQL.
import { sql } from 'kysely';
import { type FoundProblem, problemRecord } from '../../domain/problem/problem.ts';
import { toIso } from '../../domain/value/time.ts';
import type { Problems } from '../../ports/database/problems.ts';
import type { Change, Database } from '../connection/database.ts';
import { storableText } from '../connection/json.ts';
import { records } from '../connection/records.ts';

const problems = records('problems', problemRecord);

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

  const openOf = (source: string) =>
    database.read((tables) => problems.all(tables, { source, resolved_at: null }, 'id'));
  const get = (id: number) => database.read((tables) => problems.find(tables, { id }));

  return {
    report: (source, found) => database.write((change) => open(change, source, found)),

    async sync(source, found) {
      const current = new Map(found.map((one) => [`${one.kind} ${one.subject}`, one]));
      const gone = (await openOf(source)).filter(({ kind, subject }) => !current.has(`${kind} ${subject}`));
      if (gone.length === 0 && current.size === 0) return;
      await database.write(async (change) => {
        for (const one of current.values()) await open(change, source, one);
        for (const { id } of gone) await close(change, id, 'imago', repaired);
      });
    },

    async repaired(source, subject) {
      const gone = (await openOf(source)).filter((row) => row.subject === subject);
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

    openOf,

    list: ({ subject, all, ...query }) =>
      database.read((tables) =>
        problems.page(tables, query, {
          where: {
            ...(subject === undefined ? {} : { subject }),
            ...(all === true ? {} : { resolved_at: null }),
          },
          by: { id: 'number' },
          newestFirst: true,
        }),
      ),

    get,

    async resolve(id, by, reason) {
      await database.write((change) => close(change, id, by, reason));
      return get(id);
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
