// What happened since a time: channel moves, withdrawals, policies, new nodes, operations that changed pools and nodes
// or failed, and audited requests that changed what the daemon knows.
import { sql } from 'kysely';
import type { Change } from '../domain/change/record.ts';
import { toIso } from '../domain/value/time.ts';
import type { Changes } from '../ports/database/changes.ts';
import type { Database } from './connection/database.ts';
import { readCursor, rowsToRead, toPage } from './connection/page.ts';

type ChangeRow = { readonly [K in keyof Change]-?: Change[K] | null } & { readonly at: string };

export function createChanges(database: Database): Changes {
  return {
    list: ({ since, audited, ...query }) =>
      database.read(async (tables) => {
        const before = readCursor<[string, string]>('changes', query, ['string', 'string']);
        const found = await sql<ChangeRow>`
          select * from (${all(since, audited)}) as found
          where ${before?.[0] ?? null}::timestamptz is null
            or (at, id) < (${before?.[0] ?? null}::timestamptz, ${before?.[1] ?? null}::text)
          order by at desc, id desc limit ${rowsToRead(query)}`.execute(tables);
        return toPage('changes', query, found.rows, ({ at, id }) => [iso(at), id ?? ''], toChange);
      }),
  };
}

/** Every branch has the same columns. An id starts with its kind, so that it is unique in the list. */
function all(since: string, audited: readonly string[]) {
  const from = sql`${since}::timestamptz`;
  return sql`
    select 'move-' || id as id, at, 'channel' as kind, 'image/' || image as subject,
      channel || ': ' || coalesce(from_version, 'empty') || ' to ' || coalesce(to_version, 'empty') as what,
      moved_by as by, why, operation
    from imago.channel_moves where at >= ${from}
    union all
    select 'withdrawal-' || id, applied_at, 'withdrawal', 'image/' || image, version || ' withdrawn',
      asked_by, reason, operation
    from imago.withdrawals where applied_at >= ${from}
    union all
    select 'restored-' || id, lifted_at, 'withdrawal', 'image/' || image, version || ' restored',
      lifted_by, lifted_why, lifted_operation
    from imago.withdrawals where lifted_at >= ${from}
    union all
    select 'policy-' || id, at, 'policy', 'policy', 'policy changed', set_by, why, null
    from imago.policies where at >= ${from}
    union all
    select 'nodes-' || max(id), max(at), 'nodes', 'pool/' || pool,
      count(*) || case when count(*) = 1 then ' node' else ' nodes' end || ' created from ' || image || ':' || version
        || case when count(*) = 1 then ': ' || max(name) else '' end,
      null, null, null
    from imago.nodes where at >= ${from} group by pool, image, version, date_trunc('minute', at)
    union all
    select 'operation-' || id, ended_at, 'operation', subject, kind || ' ' || state, requested_by,
      coalesce(${field('error', 'message')}, ${field('input', 'why')}, ${field('input', 'reason')}), id
    from imago.operations
    where ended_at >= ${from} and parent is null
      and (state in ('failed', 'cancelled') or subject like 'pool/%' or subject like 'node/%')
    union all
    select 'request-' || id, at, 'setting', subject, what, who, ${field('after', 'why')}, null
    from imago.audit
    where at >= ${from} and status < 400 and what = any(${audited}::text[])
      and coalesce(${field('after', 'dryRun')}, 'false') <> 'true'`;
}

/** PostgreSQL fails to read any field of JSON that has a NUL or half of a character: of such a document there is none. */
function field(column: string, name: string) {
  const document = sql.ref(column);
  return sql<
    string | null
  >`case when ${document}::text !~ '\\\\u(0000|d[89a-f])' then ${document}->>${sql.lit(name)} end`;
}

function toChange(row: ChangeRow): Change {
  const present = Object.entries({ ...row, at: iso(row.at) }).filter(([, value]) => value !== null);
  return Object.fromEntries(present) as unknown as Change;
}

function iso(at: string): string {
  return toIso(new Date(at));
}
