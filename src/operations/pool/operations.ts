// Changes how many nodes a pool has, and deletes pools.
import * as declared from '../../domain/pool/operations.ts';
import { capacityToRestore, expectCapacity } from '../../domain/pool/pool.ts';
import { operation, type Reading } from '../common/operation.ts';
import {
  openPool,
  readyPool,
  recordPoolNodes,
  requireSeen,
  requireUsableModel,
  waitForPool,
  waitForPoolGone,
} from '../node/pool-nodes.ts';
import { leaveServiceAll, previewDrains, returnToService, serviceOf } from '../node/service.ts';
import { countGone, nodeNames, readVictims, removeNodes } from './scale-in.ts';
import { beforeChange } from './set-image.ts';

export { poolCreate } from './create.ts';
export { poolSetCluster } from './set-cluster.ts';
export { poolSetImage } from './set-image.ts';

/** Throws `expectation-failed` if the pool has neither the expected number of nodes nor the requested one. */
async function readCapacity(run: Reading<{ name: string; capacity: number; expect?: number | undefined }>) {
  const { name, capacity, expect } = run.input;
  const access = await openPool(run, name);
  const seen = await requireSeen(access, name);
  if (seen.capacity !== capacity) expectCapacity(name, seen.capacity, expect);
  return { ...access, capacity: seen.capacity, etag: seen.etag };
}

/** Capacity that another user set is never overwritten (rule 3), and no node is added of a withdrawn version. */
export const poolScale = operation(declared.poolScale, {
  async prepare(run) {
    const { pools, options } = await openPool(run, run.input.name);
    const seen = await pools.getPool(run.input.name, options).catch(() => undefined);
    return { before: { capacity: seen?.capacity } };
  },
  async plan(run) {
    const { name, capacity: to } = run.input;
    const { pool, capacity: from } = await readCapacity(run);
    if (to > from) await requireUsableModel(run, pool);
    const drains = to < from ? await previewDrains(run, pool, run.input, await readVictims(run)) : [];
    return [`Change pool ${name} from ${from} to ${to} nodes.`, ...drains];
  },
})
  .step('remember', async (run) => {
    const { capacity, etag, pool } = await readCapacity(run);
    const service = await serviceOf(run, pool, run.input);
    return { capacity, etag, victims: service === undefined ? [] : await readVictims(run) };
  })
  .step('scale', {
    async do(run) {
      const { name, capacity: to } = run.input;
      const { capacity: from, etag, victims } = run.result('remember');
      const access = await openPool(run, name);
      if (victims.length > 0) await removeNodes(run, access, from, victims);
      else if ((await access.pools.getPool(name, run.call))?.capacity !== to) {
        if (to > from) await requireUsableModel(run, access.pool);
        await access.pools.setCapacity(name, to, { ifMatch: etag }, run.call);
      }
      await waitForPool(access, name, to, run);
      return { from, to };
    },
    async verify(run) {
      const { name, capacity: to } = run.input;
      const ready = await readyPool(await openPool(run, name), name, to);
      return ready && { from: run.result('remember').capacity, to };
    },
    async undo(run) {
      const { name, capacity: ours } = run.input;
      const access = await openPool(run, name);
      const seen = await access.pools.getPool(name, run.call);
      if (seen === undefined) return;
      const { capacity: before, victims } = run.result('remember');
      const service = await serviceOf(run, access.pool, run.input);
      for (const node of victims) await returnToService(run, service, node);
      const removed = before - (await countGone(access, victims));
      const wanted = capacityToRestore({
        before,
        ours: victims.length > 0 ? removed : ours,
        now: seen.capacity,
      });
      if (wanted === undefined) return;
      await access.pools.setCapacity(name, wanted, { ifMatch: seen.etag }, run.call);
      await waitForPool(access, name, wanted, run);
    },
  })
  .step('record', async (run) => {
    const access = await openPool(run, run.input.name);
    if (run.input.capacity > run.result('remember').capacity) await requireUsableModel(run, access.pool);
    const { count } = await recordPoolNodes(run, access, access.pool);
    return { name: run.input.name, nodes: count };
  });

/** Cannot be undone; the record of what its nodes were created from stays. */
export const poolDelete = operation(declared.poolDelete, {
  prepare: beforeChange,
  async plan(run) {
    const { name, expect } = run.input;
    const access = await openPool(run, name);
    const { capacity = 0 } = (await access.pools.getPool(name, run.call)) ?? {};
    expectCapacity(name, capacity, expect);
    const drains = await previewDrains(run, access.pool, run.input, await nodeNames(access));
    return [`Delete pool ${name} and its ${capacity} nodes. This cannot be undone.`, ...drains];
  },
})
  .step('drain', {
    timeoutMs: 24 * 3_600_000,
    async do(run) {
      const access = await openPool(run, run.input.name);
      const nodes = await nodeNames(access);
      await leaveServiceAll(run, await serviceOf(run, access.pool, run.input), nodes);
      return { nodes };
    },
    async undo(run) {
      const access = await openPool(run, run.input.name);
      const service = await serviceOf(run, access.pool, run.input);
      for (const node of await nodeNames(access)) await returnToService(run, service, node);
    },
  })
  .step('delete', async (run) => {
    const { name, expect } = run.input;
    const access = await openPool(run, name);
    const seen = await access.pools.getPool(name, run.call);
    if (seen !== undefined && seen.state !== 'deleting') expectCapacity(name, seen.capacity, expect);
    await recordPoolNodes(run, access, access.pool);
    await access.pools.deletePool(name, run.call);
    await waitForPoolGone(access, name);
    // Its nodes are gone from its cluster too.
    await recordPoolNodes(run, access, access.pool);
    return { name };
  })
  .step('record', async (run) => {
    await run.fleet.removePool(run.input.name);
    return { name: run.input.name };
  });
