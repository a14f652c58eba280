// How versions leave, on PostgreSQL: one part a file.
import { stampAfter } from '../domain/value/time.ts';
import type { Lifecycle } from '../ports/database/lifecycle.ts';
import type { CatalogueContext } from './catalog/context.ts';
import type { Database } from './connection/database.ts';
import { createLimitSamples } from './limit-samples.ts';
import { createLineage } from './lineage/lineage.ts';
import { createRetention } from './retention/retention.ts';
import { createSupportDates } from './support-dates.ts';
import { createWithdrawals } from './withdrawal/withdrawals.ts';

export function createLifecycle(
  database: Database,
  { now = Date.now }: { readonly now?: () => number } = {},
): Lifecycle {
  const context: CatalogueContext = {
    database,
    stamp: (last) => stampAfter(new Date(now()), last),
  };
  return {
    lineage: createLineage(database),
    withdrawals: createWithdrawals(context, now),
    retention: createRetention(context, now),
    support: createSupportDates(database, now),
    samples: createLimitSamples(database),
  };
}
