// More and fewer nodes: what each is made from, and who goes.
import { randomUUID } from 'node:crypto';
import { isGeneralized } from '../../../cloud/state/gallery-rows.ts';
import { readModel } from '../../../cloud/state/models.ts';
import { conflict } from '../../../cloud/state/refusals.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import { nodeName } from '../../../domain/node/node.ts';
import type { ProvisioningError } from '../../../ports/provider/call.ts';
import type { PoolModel } from '../../../ports/provider/pools.ts';
import type { LocalContext } from '../state/context.ts';
import { memoryClaims, newMachine } from '../state/machine-rows.ts';
import { readSize } from '../state/machine-size.ts';
import { requireMemory } from '../state/memory.ts';
import type { PoolRow } from '../state/pool-rows.ts';

/** Makes the pool have so many nodes; what is being deleted does not count. Answers with those to work on. */
export function scalePool(context: LocalContext, pool: PoolRow, capacity: number): readonly string[] {
  const { world } = context;
  const live = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM machine WHERE pool = ? AND deleting = 0',
    pool.name,
  );
  const missing = capacity - (live?.count ?? 0);
  const changed = missing > 0 ? addNodes(context, pool, missing) : takeNodes(context, pool, -missing);
  world.run(
    'UPDATE pool SET capacity = ?, etag = etag + 1, nextOrdinal = nextOrdinal + ? WHERE name = ?',
    capacity,
    Math.max(0, missing),
    pool.name,
  );
  return changed;
}

function addNodes(context: LocalContext, pool: PoolRow, count: number): readonly string[] {
  const { world } = context;
  const model = readModel(world, pool.model);
  const source = modelSource(context, model);
  if (!('code' in source)) {
    const { memoryMb } = readSize(model.size);
    requireMemory(context.memory, memoryClaims(context), { count, memoryMb });
  }
  return Array.from({ length: count }, (_, index) => {
    const ordinal = pool.nextOrdinal + index;
    const row = newMachine({
      machineId: randomUUID(),
      pool: pool.name,
      name: nameOf(pool, ordinal),
      ordinal,
      spec: null,
      firmware: 'direct',
      generalized: isGeneralized(context, model) ? 1 : 0,
      model: pool.model,
      source,
      now: world.time(),
    });
    world.insert('machine', { ...row });
    return row.machineId;
  });
}

/** The last ones made go first, and never one that is protected. */
function takeNodes({ world }: LocalContext, pool: PoolRow, count: number): readonly string[] {
  if (count === 0) return [];
  const taken = world.all<{ machineId: string }>(
    `SELECT machineId FROM machine
     WHERE pool = ? AND deleting = 0 AND protectScaleIn = 0 AND protectActions = 0
     ORDER BY ordinal DESC LIMIT ?`,
    pool.name,
    count,
  );
  if (taken.length < count) {
    throw conflict(
      `Pool ${pool.name} has only ${taken.length} nodes that are not protected, and ${count} would have to go.`,
    );
  }
  for (const { machineId } of taken)
    world.run('UPDATE machine SET deleting = 1 WHERE machineId = ?', machineId);
  return taken.map(({ machineId }) => machineId);
}

/** What nodes of the model are made from, or why none can be made now. */
export function modelSource(
  context: LocalContext,
  model: PoolModel,
): { readonly digest: string } | ProvisioningError {
  const { digest } = usableVersion(context, model, context.homeRegion) ?? {};
  if (digest) return { digest };
  return {
    code: 'GalleryImageNotFound',
    message: `The gallery does not have ${model.image}:${model.version} any more.`,
  };
}

/** Numbered in a uniform pool. In a flexible one scattered, without ever meeting. */
function nameOf(pool: PoolRow, ordinal: number): string {
  if (pool.orchestration === 'uniform') return nodeName(pool.name, ordinal);
  return nodeName(pool.name, (ordinal * 612_053_011 + 123_456_789) % 36 ** 6);
}
