// Webhooks and their log, on PostgreSQL.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { toIso } from '../../domain/value/time.ts';
import { delivery, webhook } from '../../domain/webhook/record.ts';
import { testEvent } from '../../domain/webhook/webhook.ts';
import type { Webhooks } from '../../ports/database/webhooks.ts';
import type { Database } from '../connection/database.ts';
import { records } from '../connection/records.ts';
import { settledEvents } from '../events.ts';

export const webhooks = records('webhooks', webhook, { by: 'added_by' });
const deliveries = records('webhook_deliveries', delivery);

export function createWebhookStore(database: Database, { now }: { readonly now: () => number }): Webhooks {
  return {
    list: (query) => database.read((tables) => webhooks.page(tables, query, { by: { name: 'string' } })),
    get: (name) => database.read((tables) => webhooks.find(tables, { name })),

    create: ({ salt, keyId, ...given }) =>
      database.write(async ({ tables, emit }) => {
        const { name, by } = given;
        const row = webhooks.row({ ...given, state: 'active', at: toIso(new Date(now())) });
        const seen = await settledEvents(tables);
        await webhooks.insertIfNew(tables, { ...row, salt, key_id: keyId, seen });
        // The salt is the caller's own: with it, a repeated commit finds what the first one wrote.
        const created = await webhooks.find(tables, { name, salt });
        if (created === undefined) {
          throw new ImagoError('webhook-exists', `There is a webhook ${name} already.`);
        }
        emit({ type: 'webhook.added', subject: `webhook/${name}`, data: { by } });
        return created;
      }),

    delete: (name) =>
      database.write(async ({ tables, emit }) => {
        const existed = await webhooks.delete(tables, { name });
        if (existed) emit({ type: 'webhook.deleted', subject: `webhook/${name}`, data: {} });
        return existed;
      }),

    resend: (name, event, by) =>
      database.write(async ({ tables, emit }) => {
        const found = await webhooks.find(tables, { name }, 'lock');
        if (found?.state === 'gone') {
          throw new ImagoError('webhook-gone', `The receiver of webhook ${name} responded with 410 Gone.`);
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

    test: (name, by) =>
      database.write(async ({ emit }) => emit({ type: testEvent, subject: `webhook/${name}`, data: { by } })),

    hasEvent: (webhook, event) =>
      database.read(async (tables) => (await deliveries.find(tables, { webhook, event })) !== undefined),

    async log(name, query) {
      const options = { where: { webhook: name }, by: { id: 'number' }, newestFirst: true } as const;
      const page = await database.read((tables) => deliveries.page(tables, query, options));
      return { ...page, items: page.items.map(withoutPastAttempt) };
    },
  };
}

/** Only a delivery that waits has a next attempt. */
function withoutPastAttempt<T extends { readonly state: string; readonly nextAt?: string | undefined }>(
  one: T,
) {
  const { nextAt, ...rest } = one;
  return one.state === 'waiting' ? one : rest;
}
