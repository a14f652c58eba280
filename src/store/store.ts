// Everything that is kept in PostgreSQL, opened together. The order at the start of a daemon is: `acquireLease`,
// `migrate`, `openStore`.
import type { Audit, Tokens } from '../ports/access.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { Fleet } from '../ports/fleet.ts';
import type { GalleryBook } from '../ports/galleries.ts';
import type { Lifecycle } from '../ports/lifecycle.ts';
import type { Journal, OperationLists } from '../ports/operation.ts';
import type { Promotion } from '../ports/promotion.ts';
import type { WebhookOutbox, Webhooks } from '../ports/webhooks.ts';
import { createAudit } from './audit.ts';
import { createCatalogue } from './catalogue.ts';
import { type Database, type DatabaseOptions, openDatabase } from './database.ts';
import { createEvents, type EventLog } from './events.ts';
import { createFleet } from './fleet.ts';
import { createGalleryBook } from './galleries.ts';
import { createIdempotencyKeys, type IdempotencyStore } from './idempotency.ts';
import { createJournal } from './journal.ts';
import { createLifecycle } from './lifecycle.ts';
import { createOperationLists } from './operation-lists.ts';
import { type OperationRetention, tidyOperations, usualOperationRetention } from './operation-tidy.ts';
import { createPromotion } from './promotion.ts';
import { createScheduleStore, type ScheduleStore } from './schedules.ts';
import { createTokens } from './tokens.ts';
import { createWebhookOutbox } from './webhook-outbox.ts';
import { createWebhookStore } from './webhooks.ts';

export interface Store {
  readonly database: Database;
  readonly catalogue: Catalogue;
  readonly promotion: Promotion;
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly journal: Journal;
  readonly operationLists: OperationLists;
  readonly events: EventLog;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly idempotency: IdempotencyStore;
  readonly schedules: ScheduleStore;
  readonly galleryBook: GalleryBook;
  readonly webhooks: Webhooks;
  readonly outbox: WebhookOutbox;
  /** Deletes what has outlived its use: old events, idempotency keys, deliveries and operations. Call it now and then. */
  tidy(): Promise<void>;
  /** Lets go of all connections. A second call does nothing. */
  close(): Promise<void>;
}

export interface StoreOptions extends DatabaseOptions {
  /** The time that records are stamped with, in milliseconds since 1970. */
  readonly now?: () => number;
  readonly keep?: Partial<OperationRetention>;
}

const deliveriesKeptMs = 30 * 24 * 3_600_000;

/** Connects when it is first used. */
export function openStore({ now = Date.now, keep = {}, ...options }: StoreOptions): Store {
  const database = openDatabase(options);
  const events = createEvents(database);
  const idempotency = createIdempotencyKeys(database);
  const outbox = createWebhookOutbox(database, { now });
  return {
    database,
    catalogue: createCatalogue(database, { now }),
    promotion: createPromotion(database, { now }),
    fleet: createFleet(database, { now }),
    lifecycle: createLifecycle(database, { now }),
    journal: createJournal(database),
    operationLists: createOperationLists(database),
    events,
    tokens: createTokens(database),
    audit: createAudit(database),
    idempotency,
    schedules: createScheduleStore(database),
    galleryBook: createGalleryBook(database, { now }),
    webhooks: createWebhookStore(database, { now }),
    outbox,
    async tidy() {
      await events.trim();
      await idempotency.expire();
      await outbox.trim(new Date(now() - deliveriesKeptMs).toISOString());
      await tidyOperations(database, { ...usualOperationRetention, ...keep });
    },
    async close() {
      await events.close();
      await database.close();
    },
  };
}
