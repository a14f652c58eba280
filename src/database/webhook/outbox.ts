// Deliveries of webhooks on their way. An event is written down for a webhook together with how far the webhook has
// seen, so that none is lost or written twice, whenever a daemon dies.
import { sql } from 'kysely';
import { toIso } from '../../domain/value/time.ts';
import { type ToldEvent, testEvent } from '../../domain/webhook/webhook.ts';
import type { DeliveryOutcome, WebhookOutbox } from '../../ports/database/webhooks.ts';
import type { Change, Database } from '../connection/database.ts';
import { fromJson, storableText } from '../connection/json.ts';
import { settledEvents } from '../events.ts';
import { webhooks as webhookRecords } from './webhooks.ts';

/** How many events are recorded in one transaction. */
const atOnce = 500;
/** A webhook whose events are rare still advances periodically, so that the search stays quick. */
const farBehind = 5_000;
/** A delivery that failed this often is reported. */
const failingAttempts = 4;

export function createWebhookOutbox(
  database: Database,
  { now }: { readonly now: () => number },
): WebhookOutbox {
  const time = () => toIso(new Date(now()));

  async function collectFor(webhook: string, body: (event: ToldEvent) => string): Promise<number> {
    let added = 0;
    for (;;) {
      const taken = await takeEvents(database, webhook, body, time());
      added += taken;
      if (taken < atOnce) return added;
    }
  }

  return {
    async collect(body) {
      const webhooks = await database.read((tables) =>
        sql<{ name: string }>`
          select w.name from imago.webhooks w
          where w.state = 'active' and (
            exists (select from imago.events e where ${wanted})
            or w.seen + ${farBehind} < (select coalesce(max(id), 0) from imago.events))
          order by w.name`.execute(tables),
      );
      let added = 0;
      for (const { name } of webhooks.rows) added += await collectFor(name, body);
      return added;
    },

    async due(limit) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('webhook_deliveries as d')
          .innerJoin('webhooks as w', 'w.name', 'd.webhook')
          .where('d.state', '=', 'waiting')
          .where('d.next_at', '<=', time())
          .selectAll('w')
          .select(['d.id as delivery', 'd.event', 'd.attempts', 'd.body'])
          .orderBy('d.next_at')
          .orderBy('d.id')
          .limit(limit)
          .execute(),
      );
      return rows.map(({ delivery, event, attempts, body, ...row }) => ({
        ...{ id: delivery, event, attempts, body },
        webhook: { ...webhookRecords.of(row), salt: row.salt, keyId: row.key_id },
      }));
    },

    record: (delivery, outcome) =>
      database.write((change) => recordOutcome(change, delivery, outcome, time())),

    async nextAt() {
      const row = await database.read((tables) =>
        tables
          .selectFrom('webhook_deliveries')
          .select('next_at')
          .where('state', '=', 'waiting')
          .orderBy('next_at')
          .limit(1)
          .executeTakeFirst(),
      );
      return row?.next_at;
    },

    async failing() {
      const found = await database.read((tables) =>
        sql<{ webhook: string; count: number; error: string | null }>`
          select webhook, count(*) as count, (array_agg(error order by id desc))[1] as error
          from imago.webhook_deliveries
          where state = 'failed' or (state = 'waiting' and attempts >= ${failingAttempts})
          group by webhook order by webhook`.execute(tables),
      );
      return found.rows.map(({ error, ...row }) => ({ ...row, error: error ?? 'unknown error' }));
    },

    async trim(before) {
      const gone = await database.writeOnce((tables) =>
        tables.deleteFrom('webhook_deliveries').where('ended_at', '<', before).executeTakeFirst(),
      );
      return Number(gone.numDeletedRows);
    },
  };
}

/** The events `e` that the webhook `w` asked for and has not seen. */
const wanted = sql`e.id > w.seen and (
  (e.type in (select json_array_elements_text(w.events)) and (w.image is null or e.subject = 'image/' || w.image))
  or (e.type = ${testEvent} and e.subject = 'webhook/' || w.name))`;

function takeEvents(
  database: Database,
  webhook: string,
  body: (event: ToldEvent) => string,
  at: string,
): Promise<number> {
  return database.write(async ({ tables }) => {
    const locked = await tables
      .selectFrom('webhooks')
      .select('name')
      .where('name', '=', webhook)
      .where('state', '=', 'active')
      .forUpdate()
      .executeTakeFirst();
    if (locked === undefined) return 0;
    const last = await settledEvents(tables);
    const found = await sql<{ id: number; at: string; type: string; subject: string; data: string }>`
      select e.id, e.at, e.type, e.subject, e.data from imago.webhooks w, imago.events e
      where w.name = ${webhook} and e.id <= ${last} and ${wanted}
      order by e.id limit ${atOnce}`.execute(tables);
    const events = found.rows.map((row) => ({ ...row, data: fromJson(row.data) }));
    if (events.length > 0) {
      await tables
        .insertInto('webhook_deliveries')
        .values(
          events.map((event) => ({
            ...{ webhook, event: event.id, type: event.type, body: body(event) },
            ...{ state: 'waiting' as const, attempts: 0, next_at: at, at },
          })),
        )
        .onConflict((conflict) => conflict.columns(['webhook', 'event']).doNothing())
        .execute();
    }
    const seen = events.length < atOnce ? last : (events.at(-1)?.id ?? last);
    await tables.updateTable('webhooks').set({ seen }).where('name', '=', webhook).execute();
    return events.length;
  });
}

async function recordOutcome(
  { tables }: Change,
  delivery: number,
  outcome: DeliveryOutcome,
  at: string,
): Promise<void> {
  const answer = {
    status: outcome.status ?? null,
    error: 'error' in outcome ? storableText(outcome.error).slice(0, 1000) : null,
  };
  const ended = outcome.kind === 'again' ? {} : { ended_at: at };
  const state = outcome.kind === 'again' ? 'waiting' : outcome.kind === 'delivered' ? 'delivered' : 'failed';
  const row = await tables
    .updateTable('webhook_deliveries')
    .set((set) => ({
      ...{ state, ...answer, ...ended },
      attempts: set('attempts', '+', 1),
      ...(outcome.kind === 'again' ? { next_at: outcome.at } : {}),
    }))
    .where('id', '=', delivery)
    .where('state', '=', 'waiting')
    .returning('webhook')
    .executeTakeFirst();
  if (row === undefined) return;
  const others = tables
    .updateTable('webhook_deliveries')
    .where('webhook', '=', row.webhook)
    .where('state', '=', 'waiting');
  if (outcome.kind === 'again') {
    await others.set({ next_at: outcome.othersAt }).where('next_at', '<', outcome.othersAt).execute();
  }
  if (outcome.kind === 'gone') {
    await others.set({ state: 'failed', ended_at: at, error: 'The webhook is gone.' }).execute();
    await tables.updateTable('webhooks').set({ state: 'gone' }).where('name', '=', row.webhook).execute();
  }
}
