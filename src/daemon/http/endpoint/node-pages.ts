// Lists nodes: records joined with the provider's list, pool by pool. Both are sorted by name, so that a page reads about
// one page of each, regardless of the number of nodes.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { NodeRecord, PoolRecord } from '../../../ports/database/fleet.ts';
import type { Page } from '../../../ports/page.ts';
import type { ProviderNode } from '../../../ports/provider/pools.ts';
import { pageQuery } from './page-query.ts';
import { type NodeView, nodeView, queryProvider } from './provider-view.ts';

type ProviderCall = Parameters<typeof queryProvider>[0];
type Query = { readonly limit: number; readonly cursor?: string | undefined };

/** Where the nodes of a pool continue: in the records, and at the provider. */
interface Place {
  readonly records?: string;
  readonly provider?: string;
}

/** Also the pool, and where the list of pools continues. */
interface Cursor extends Place {
  readonly pool?: string;
  readonly pools?: string;
}

interface NodesOfPool {
  readonly items: readonly NodeView[];
  readonly rest?: Place;
}

/** Lists the live nodes of one pool, by name. */
export async function pageOfPool(
  call: ProviderCall,
  pool: PoolRecord,
  query: Query,
): Promise<Page<NodeView>> {
  const { items, rest } = await nodesOfPool(call, pool, query.limit, readCursor(query.cursor));
  return { items, ...(rest === undefined ? {} : { next: writeCursor(rest) }) };
}

/** Lists the live nodes of all pools, by pool and name. Pools created or deleted between pages do not shift others. */
export async function pageOfAll(call: ProviderCall, query: Query): Promise<Page<NodeView>> {
  const items: NodeView[] = [];
  let at: Cursor | undefined = readCursor(query.cursor);
  while (at !== undefined && items.length < query.limit) {
    const { pool, pools } = await nextPool(call, at);
    const some: NodesOfPool | undefined =
      pool && (await nodesOfPool(call, pool, query.limit - items.length, at));
    items.push(...(some?.items ?? []));
    const later = pools === undefined ? undefined : { pools };
    at = pool && some?.rest ? { ...some.rest, ...later, pool: pool.name } : later;
  }
  return { items, ...(at === undefined ? {} : { next: writeCursor(at) }) };
}

async function nextPool(
  { context: { fleet } }: ProviderCall,
  at: Cursor,
): Promise<{ readonly pool: PoolRecord | undefined; readonly pools: string | undefined }> {
  if (at.pool !== undefined) return { pool: await fleet.getPool(at.pool), pools: at.pools };
  const page = await fleet.listPools(pageQuery({ limit: 1, cursor: at.pools }));
  return { pool: page.items[0], pools: page.next };
}

async function nodesOfPool(
  call: ProviderCall,
  pool: PoolRecord,
  limit: number,
  from: Place,
): Promise<NodesOfPool> {
  const records = await call.context.fleet.listNodes(pool.name, pageQuery({ limit, cursor: from.records }));
  const seen = await seenNodes(call, pool, records.items, from.provider);
  const items = records.items.map((record) => ({
    ...nodeView(record, seen === 'unknown' ? seen : seen.nodes.get(record.name)),
    provider: pool.provider,
  }));
  if (records.next === undefined) return { items };
  const provider = seen === 'unknown' ? from.provider : seen.cursor;
  return { items, rest: { records: records.next, ...(provider === undefined ? {} : { provider }) } };
}

/** Returns the provider's view of these nodes, and the page of its list where the next ones start. */
async function seenNodes(
  call: ProviderCall,
  pool: PoolRecord,
  records: readonly NodeRecord[],
  from: string | undefined,
): Promise<{ readonly nodes: ReadonlyMap<string, ProviderNode>; readonly cursor?: string } | 'unknown'> {
  const wanted = new Set(records.map(({ name }) => name));
  const last = records.at(-1)?.name ?? '';
  return queryProvider(call, pool, async (pools, options) => {
    const nodes = new Map<string, ProviderNode>();
    let cursor = from;
    while (wanted.size > 0) {
      const page = await pools.listNodes(pool.name, pageQuery({ limit: 1000, cursor }), options);
      for (const node of page.items) if (wanted.delete(node.name)) nodes.set(node.name, node);
      const passed = (page.items.at(-1)?.name ?? '') >= last;
      if (passed || page.next === undefined) break;
      cursor = page.next;
    }
    return { nodes, ...(cursor === undefined ? {} : { cursor }) };
  });
}

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify({ ...cursor, list: 'nodes' })).toString('base64url');
}

function readCursor(text: string | undefined): Cursor {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (isCursor(value)) return value;
  } catch {
    // Reported below.
  }
  throw new ImagoError('api-cursor-invalid', 'The cursor does not belong to the list of nodes.');
}

function isCursor(value: unknown): value is Cursor {
  if (typeof value !== 'object' || value === null || !('list' in value) || value.list !== 'nodes')
    return false;
  return Object.values(value).every((part) => typeof part === 'string');
}
