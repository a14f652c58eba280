// Pools.
import { newestFreshness } from '../../../domain/evidence/freshness.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { loadPoolView } from '../endpoint/provider-view.ts';

/** How many pools are read from providers concurrently. */
const AT_ONCE = 16;

export const poolHandlers = {
  async listPools(call) {
    const page = await call.context.fleet.listPools(pageQuery(call.query));
    const items = [];
    for (let start = 0; start < page.items.length; start += AT_ONCE) {
      const some = page.items.slice(start, start + AT_ONCE);
      items.push(...(await Promise.all(some.map((pool) => loadPoolView(call, pool)))));
    }
    return { ...page, items };
  },
  async showPool(call) {
    const pool = await requirePool(call.context, call.path.pool);
    const behind = await call.context.lifecycle.lineage.behind(pool);
    const evidence = await call.context.catalogue.listEvidence(pool.digest);
    const freshness = newestFreshness(pool.digest, evidence)?.found;
    return {
      ...(await loadPoolView(call, pool)),
      ...(behind === undefined ? {} : { behind }),
      ...(freshness === undefined ? {} : { freshness }),
    };
  },
} satisfies Partial<Handlers>;
