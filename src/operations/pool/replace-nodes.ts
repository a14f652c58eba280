// Replaces the nodes of a pool that run one of some versions, one at a time, with nodes of the pool's model. It stops at
// the first that does not become ready, so that a bad model costs one node and not the pool.
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/pool/operations.ts';
import { capacityToRestore } from '../../domain/pool/pool.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { operation, type Reading } from '../common/operation.ts';
import {
  type OpenPool,
  openPool,
  poolNodes,
  recordPoolNodes,
  requireSeen,
  requireUsableModel,
} from '../node/pool-nodes.ts';
import { awaitJoined, leaveService, previewDrains, returnToService, serviceOf } from '../node/service.ts';
import { replaceNode } from './replace-node.ts';
import { poolSetImage } from './set-image.ts';

interface Replacement {
  readonly name: string;
  readonly versions: readonly string[];
}

export const replaceNodes = operation(declared.replaceNodes, {
  async plan(run) {
    const { name, follow, why } = run.input;
    const access = await openPool(run, name);
    if (follow === undefined) await requireOtherModel(run, access);
    const targets = await readTargets(run, access);
    return [
      ...(follow === undefined ? [] : [`Create new nodes of pool ${name} from ${follow}.`]),
      `Replace ${targets.length} nodes of pool ${name}, one at a time: ${why}`,
      ...(await previewDrains(run, access.pool, run.input, namesOf(targets))),
    ];
  },
})
  // The child works under this operation's lock on the pool.
  .child(
    'follow',
    poolSetImage,
    ({ input: { name, follow = '' } }) => ({ name, reference: follow, pin: false }),
    ({ follow }) => follow !== undefined,
  )
  .step('remember', async (run) => {
    const access = await openPool(run, run.input.name);
    await requireOtherModel(run, access);
    const { capacity } = await requireSeen(access, run.input.name);
    const targets = await readTargets(run, access);
    // Nodes that do not run must not run afterwards (rule 1).
    const stopped = targets.filter(({ power }) => power === 'stopped' || power === 'stopping');
    return { capacity, targets: namesOf(targets), stopped: namesOf(stopped) };
  })
  .step('replace', {
    timeoutMs: 24 * 3_600_000,
    async do(run) {
      const access = await openPool(run, run.input.name);
      const { targets, capacity, stopped } = run.result('remember');
      const left = await readTargets(run, access);
      let done = Math.max(0, targets.length - left.length);
      for (const node of left) {
        const total = Math.max(targets.length, done + left.length);
        run.progress(done, total, `${done} of ${total} nodes of ${run.input.name} are replaced`);
        const { versions } = run.input;
        const service = await serviceOf(run, access.pool, run.input);
        await replaceNode(
          {
            ...{ access, versions, capacity, stopped: new Set(stopped) },
            leave: (name) => leaveService(run, service, name),
            enter: (name) => awaitJoined(run, access, service, name),
          },
          node.name,
        );
        await returnToService(run, service, node.name);
        // Rule 6: the new disk is recorded now, not after the last node.
        await recordPoolNodes(run, access, access.pool);
        done += 1;
      }
      return { replaced: targets.length };
    },
    async verify(run) {
      const left = await readTargets(run, await openPool(run, run.input.name));
      return left.length > 0 ? undefined : { replaced: run.result('remember').targets.length };
    },
    /** Replaced nodes stay; a node that was added to replace another is removed. */
    async undo(run) {
      const { name } = run.input;
      const { pools, pool } = await openPool(run, name);
      const service = await serviceOf(run, pool, run.input);
      for (const node of run.result('remember').targets) await returnToService(run, service, node);
      const seen = await pools.getPool(name, run.call);
      if (seen === undefined) return 'kept';
      const { capacity } = run.result('remember');
      const wanted = capacityToRestore({ before: capacity, ours: capacity + 1, now: seen.capacity });
      if (wanted !== undefined) await pools.setCapacity(name, wanted, { ifMatch: seen.etag }, run.call);
      return 'kept';
    },
  })
  .step('record', async (run) => {
    const { name } = run.input;
    const access = await openPool(run, name);
    await recordPoolNodes(run, access, access.pool);
    const left = await readTargets(run, access);
    if (left.length > 0) {
      throw new ImagoError(
        'nodes-left',
        `${left.length} nodes of pool ${name} still run a replaced version.`,
        {
          retryable: true,
        },
      );
    }
    const { image, version } = access.pool;
    return { name, image, version, ...run.result('replace') };
  });

function namesOf(nodes: readonly ProviderNode[]): readonly string[] {
  return nodes.map(({ name }) => name);
}

/** Throws `version-withdrawn` if new nodes would run one of the versions again. */
async function requireOtherModel(run: Reading<Replacement>, { pool }: OpenPool): Promise<void> {
  await requireUsableModel(run, pool);
  const { name, image, version } = pool;
  if (!run.input.versions.includes(`${image}:${version}`)) return;
  throw new ImagoError(
    'version-withdrawn',
    `New nodes of pool ${name} would be created from ${image}:${version} again.`,
    { hint: `Choose another image with \`imago pool set-image ${name}\` first.` },
  );
}

async function readTargets(run: Reading<Replacement>, access: OpenPool): Promise<readonly ProviderNode[]> {
  const targets: ProviderNode[] = [];
  for await (const node of poolNodes(access, run.input.name)) {
    const isTarget = run.input.versions.includes(`${node.image}:${node.version}`);
    if (isTarget && node.state !== 'deleting') targets.push(node);
  }
  return targets;
}
