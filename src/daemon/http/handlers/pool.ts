// Pools.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';
import { checkName } from '../../../domain/value/name.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import type { Fleet, PoolRecord } from '../../../ports/database/fleet.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { lookAtPool } from '../endpoint/provider-view.ts';
import { startOperation } from '../endpoint/start-operation.ts';

/** Providers are asked about so many pools at the same time. */
const AT_ONCE = 16;

export const poolHandlers = {
  async listPools(call) {
    const page = await call.context.fleet.listPools(pageQuery(call.query));
    const items = [];
    for (let start = 0; start < page.items.length; start += AT_ONCE) {
      const some = page.items.slice(start, start + AT_ONCE);
      items.push(...(await Promise.all(some.map((pool) => lookAtPool(call, pool)))));
    }
    return { ...page, items };
  },
  async showPool(call) {
    const pool = await requirePool(call.context.fleet, call.path.pool);
    const behind = await call.context.lifecycle.lineage.behind(pool);
    return { ...(await lookAtPool(call, pool)), ...(behind === undefined ? {} : { behind }) };
  },
  async createPool(call) {
    const { name } = call.body;
    checkName('pool', name);
    return startOperation(call, { kind: 'pool-create', subject: `pool/${name}`, input: { ...call.body } });
  },
  async scalePool(call) {
    const pool = await requirePool(call.context.fleet, call.path.pool);
    const { name, capacity } = await lookAtPool(call, pool);
    return startOperation(call, {
      kind: 'pool-scale',
      subject: `pool/${name}`,
      input: { name, ...call.body },
      before: { capacity },
    });
  },
  async setPoolImage(call) {
    const pool = await requirePool(call.context.fleet, call.path.pool);
    const { reference, pin } = call.body;
    return startOperation(call, {
      kind: 'pool-set-image',
      subject: `pool/${pool.name}`,
      input: { name: pool.name, reference, pin },
      before: poolTrail(pool),
    });
  },
  async setPoolConfig(call) {
    const pool = await requirePool(call.context.fleet, call.path.pool);
    return startOperation(call, {
      kind: 'node-config-set',
      subject: `pool/${pool.name}`,
      input: { pool: pool.name, ...call.body },
    });
  },
  async deletePool(call) {
    const pool = await requirePool(call.context.fleet, call.path.pool);
    return startOperation(call, {
      kind: 'pool-delete',
      subject: `pool/${pool.name}`,
      input: { name: pool.name, ...call.query },
      before: poolTrail(pool),
    });
  },
} satisfies Partial<Handlers>;

export async function requirePool(fleet: Fleet, name: string): Promise<PoolRecord> {
  const pool = await fleet.getPool(name);
  if (pool !== undefined) return pool;
  const known = await fleet.listPools({ limit: 1000 });
  const near = didYouMean(
    name,
    known.items.map((item) => item.name),
  );
  throw new ImagoError('pool-not-found', `There is no pool ${name}.`, {
    hint: near ?? 'See `imago pool list`.',
  });
}

function poolTrail({ reference, follows, image, version, digest, move }: PoolRecord): Json {
  return { reference, follows, image, version, digest, move };
}
