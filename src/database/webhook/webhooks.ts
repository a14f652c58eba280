// Webhooks and their log, on PostgreSQL.
import type { Selectable } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { toIso } from '../../domain/value/time.ts';
import type { WebhookEvent } from '../../domain/webhook/webhook.ts';
import type { Delivery, KeptWebhook, Webhook, Webhooks } from '../../ports/database/webhooks.ts';
import type { Database } from '../connection/database.ts';
import { fromJson, optional, toJson } from '../connection/json.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { WebhookDeliveriesTable, WebhooksTable } from '../connection/tables.ts';
import { settledEvents } from '../events.ts';

export function createWebhookStore(database: Database, { now }: { readonly now: () => number }): Webhooks {
  return {
    async list(query) {
      const after = readCursor<[string]>('webhooks', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('webhooks')
          .selectAll()
          .where('name', '>', after?.[0] ?? '')
          .orderBy('name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('webhooks', query, rows, ({ name }) => [name], toWebhook);
    },

    async get(name) {
      const row = await database.read((tables) =>
        tables.selectFrom('webhooks').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row && toWebhook(row);
    },

    create: (webhook) =>
      database.write(async ({ tables, emit }) => {
        const { name, url, events, image, allowPrivate, salt, keyId, by } = webhook;
        await tables
          .insertInto('webhooks')
          .values({
            ...{ name, url, salt, image: image ?? null, events: toJson(events), key_id: keyId },
            ...{
              allow_private: allowPrivate,
              seen: await settledEvents(tables),
              state: 'active',
              added_by: by,
            },
            at: toIso(new Date(now())),
          })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .execute();
        const row = await tables
          .selectFrom('webhooks')
          .selectAll()
          .where('name', '=', name)
          .executeTakeFirstOrThrow();
        // The salt is the caller's own: with it, a repeated commit finds what the first one wrote.
        if (row.salt !== salt) throw new ImagoError('webhook-exists', `There is a webhook ${name} already.`);
        emit({ type: 'webhook.added', subject: `webhook/${name}`, data: { by } });
        return toWebhook(row);
      }),

    delete: (name) =>
      database.write(async ({ tables, emit }) => {
        const gone = await tables.deleteFrom('webhooks').where('name', '=', name).executeTakeFirst();
        if (gone.numDeletedRows === 0n) return false;
        emit({ type: 'webhook.deleted', subject: `webhook/${name}`, data: {} });
        return true;
      }),

    resend: (name, event, by) =>
      database.write(async ({ tables, emit }) => {
        const webhook = await tables
          .selectFrom('webhooks')
          .select('state')
          .where('name', '=', name)
          .forUpdate()
          .executeTakeFirst();
        if (webhook?.state === 'gone') {
          throw new ImagoError('webhook-gone', `Webhook ${name} ended: the other side wants no more.`);
        }
        const ended = tables
          .updateTable('webhook_deliveries')
          .set({
            ...{ state: 'waiting', attempts: 0, next_at: toIso(new Date(now())) },
            ...{ status: null, error: null, ended_at: null },
          })
          .where('webhook', '=', name);
        const again = await (event === undefined
          ? ended.where('state', '=', 'failed')
          : ended.where('event', '=', event).where('state', '!=', 'waiting')
        ).executeTakeFirst();
        const count = Number(again.numUpdatedRows);
        if (count > 0) emit({ type: 'webhook.resent', subject: `webhook/${name}`, data: { by, count } });
        return count;
      }),

    async log(name, query) {
      const before = readCursor<[number]>('deliveries', query, ['number']);
      const rows = await database.read((tables) => {
        const found = tables.selectFrom('webhook_deliveries').selectAll().where('webhook', '=', name);
        return (before === undefined ? found : found.where('id', '<', before[0]))
          .orderBy('id', 'desc')
          .limit(rowsToRead(query))
          .execute();
      });
      return toPage('deliveries', query, rows, ({ id }) => [id], toDelivery);
    },
  };
}

export function toKeptWebhook(row: Selectable<WebhooksTable>): KeptWebhook {
  return { ...toWebhook(row), salt: row.salt, keyId: row.key_id };
}

function toWebhook(row: Selectable<WebhooksTable>): Webhook {
  return {
    name: row.name,
    url: row.url,
    events: fromJson<readonly WebhookEvent[]>(row.events),
    ...optional('image', row.image),
    allowPrivate: row.allow_private,
    state: row.state,
    by: row.added_by,
    at: row.at,
  };
}

function toDelivery(row: Selectable<WebhookDeliveriesTable>): Delivery {
  return {
    ...{ id: row.id, webhook: row.webhook, event: row.event, type: row.type },
    ...{ state: row.state, attempts: row.attempts },
    ...(row.state === 'waiting' ? { nextAt: row.next_at } : {}),
    ...optional('status', row.status),
    ...optional('error', row.error),
    at: row.at,
    ...optional('endedAt', row.ended_at),
  };
}
