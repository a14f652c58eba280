// Everything that is kept in PostgreSQL, opened together. The order at the start of a daemon is: `acquireLease`,
// `migrate`, `openStore`.
import type { Audit, Tokens } from '../ports/database/access.ts';
import type { Catalogue } from '../ports/database/catalog.ts';
import type { Changes } from '../ports/database/changes.ts';
import type { ClusterBook } from '../ports/database/clusters.ts';
import type { Fleet } from '../ports/database/fleet.ts';
import type { GalleryBook } from '../ports/database/galleries.ts';
import type { Lifecycle } from '../ports/database/lifecycle.ts';
import type { Problems } from '../ports/database/problems.ts';
import type { Promotion } from '../ports/database/promotion.ts';
import type { WebhookOutbox, Webhooks } from '../ports/database/webhooks.ts';
import type { CallRecords } from '../ports/workflow/engine.ts';
import type { Journal, OperationLists } from '../ports/workflow/operation.ts';
import { createAudit } from './access/audit.ts';
import { createIdempotencyKeys, type IdempotencyStore } from './access/idempotency.ts';
import { createTokens } from './access/tokens.ts';
import { createCatalogue } from './catalog/catalog.ts';
import { createChanges } from './changes.ts';
import { createClusterBook } from './clusters.ts';
import { type Database, type DatabaseOptions, openDatabase } from './connection/database.ts';
import { createEvents, type EventLog } from './events.ts';
import { createGalleryBook } from './galleries.ts';
import { createLifecycle } from './lifecycle.ts';
import { createCallRecords } from './operation/call-records.ts';
import { createOperationLists } from './operation/lists.ts';
import { createJournal } from './operation/operation-journal.ts';
import {
  type OperationRetention,
  tidyOperations,
  usualOperationRetention,
} from './operation/prune-operations.ts';
import { createFleet } from './pool/fleet.ts';
import { createProblems } from './problem/problems.ts';
import { createPromotion } from './promotion.ts';
import { createScheduleStore, type ScheduleStore } from './schedules.ts';
import { createWebhookOutbox } from './webhook/outbox.ts';
import { createWebhookStore } from './webhook/webhooks.ts';

export interface Store {
  readonly database: Database;
  readonly catalogue: Catalogue;
  readonly promotion: Promotion;
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly journal: Journal;
  readonly calls: CallRecords;
  readonly operationLists: OperationLists;
  readonly events: EventLog;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly idempotency: IdempotencyStore;
  readonly schedules: ScheduleStore;
  readonly galleryBook: GalleryBook;
  readonly clusterBook: ClusterBook;
  readonly webhooks: Webhooks;
  readonly outbox: WebhookOutbox;
  readonly problems: Problems;
  readonly changes: Changes;
  /** Deletes what has outlived its use: old events, idempotency keys, deliveries and operations. Call it periodically. */
  tidy(): Promise<void>;
  /** Closes all connections. A second call does nothing. */
  close(): Promise<void>;
}

export interface StoreOptions extends DatabaseOptions {
  /** The time that records are stamped with, in milliseconds since 1970. */
  readonly now?: () => number;
  readonly keep?: Partial<OperationRetention>;
}

const deliveriesKeptMs = 30 * 24 * 3_600_000;
const problemsKeptMs = 90 * 24 * 3_600_000;

/** Connects when it is first used. */
export function openStore({ now = Date.now, keep = {}, ...options }: StoreOptions): Store {
  const database = openDatabase(options);
  const events = createEvents(database);
  const idempotency = createIdempotencyKeys(database);
  const outbox = createWebhookOutbox(database, { now });
  const problems = createProblems(database, { now });
  return {
    database,
    catalogue: createCatalogue(database, { now }),
    promotion: createPromotion(database, { now }),
    fleet: createFleet(database, { now }),
    lifecycle: createLifecycle(database, { now }),
    journal: createJournal(database),
    calls: createCallRecords(database),
    operationLists: createOperationLists(database),
    events,
    tokens: createTokens(database),
    audit: createAudit(database),
    idempotency,
    schedules: createScheduleStore(database),
    galleryBook: createGalleryBook(database, { now }),
    clusterBook: createClusterBook(database, { now }),
    webhooks: createWebhookStore(database, { now }),
    outbox,
    problems,
    changes: createChanges(database),
    async tidy() {
      await events.trim();
      await idempotency.expire();
      await outbox.trim(new Date(now() - deliveriesKeptMs).toISOString());
      await problems.trim(new Date(now() - problemsKeptMs).toISOString());
      await tidyOperations(database, { ...usualOperationRetention, ...keep });
    },
    async close() {
      await events.close();
      await database.close();
    },
  };
}
