// Replaces the nodes of a pool that run one of some versions, one at a time, with nodes of the pool's model. It stops at
// the first that does not become ready, so that a bad model costs one node and not the pool.
import type * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { operationRequest } from '../../domain/operation/declaration.ts';
import * as declared from '../../domain/pool/operations.ts';
import { rolloutNode } from '../../domain/rollout/operations.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { type Looked, operation, type Reading, type Run } from '../common/operation.ts';
import {
  type OpenPool,
  openPool,
  poolNodes,
  recordPoolNodes,
  requireUsableModel,
} from '../node/pool-nodes.ts';
import { previewDrains } from '../node/service.ts';
import { poolSetImage } from '../pool/set-image.ts';
import { moveId, readMoves, stopMoves } from './observe.ts';

interface Replacement {
  readonly name: string;
  readonly versions: readonly string[];
}

const patienceMs = 30 * 24 * 3_600_000;
/** A node that ends wakes the step; a message that is lost costs this much. */
const maxCheckMs = 15_000;
const maxAttempts = 3;

export const replaceNodes = operation(declared.replaceNodes, {
  removed: ['replace'],
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
  .step('remember', {
    async do(run) {
      const access = await openPool(run, run.input.name);
      await requireOtherModel(run, access);
      return { targets: namesOf(await readTargets(run, access)) };
    },
    /** Replaced nodes stay; the operation of the node that is being replaced undoes what it has begun. */
    undo: async (run) => {
      await stopMoves(run);
      return 'kept';
    },
  })
  .until('nodes', { patience: () => ({ timeoutMs: patienceMs }), look: lookAtNodes })
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
    return { name, image, version, ...run.result('nodes') };
  });

type Replacing = Run<
  z.output<typeof declared.replaceNodes.input>,
  { readonly remember: { readonly targets: readonly string[] } }
>;

/** Starts the operation of the next node when the previous one has ended; repeating it after a crash starts none twice. */
async function lookAtNodes(run: Replacing): Promise<Looked<{ readonly replaced: number }>> {
  const { id: parent, by } = run.operation;
  const { name, versions: _versions, follow: _follow, why: _why, ...drain } = run.input;
  const left = await readTargets(run, await openPool(run, name));
  const moves = await readMoves(run, parent, 'to');
  for (const [node, { state, sentence }] of moves)
    if (state === 'failed')
      throw new ImagoError('nodes-left', `Node ${node} could not be replaced: ${sentence ?? 'no reason'}`, {
        retryable: false,
      });
  const replaced = run.result('remember').targets.length;
  const done = `${Math.max(0, replaced - left.length)} of ${replaced} nodes of ${name} are replaced`;
  const live = [...moves].find(([, { state }]) => state === 'live');
  if (live !== undefined) {
    const [node, { sentence = 'it is being replaced' }] = live;
    return { againMs: maxCheckMs, sentence: `${done}; node ${node}: ${sentence}` };
  }
  const next = left.find((node) => (moves.get(node.name)?.attempt ?? 0) < maxAttempts);
  // The step after this one reports nodes that are left.
  if (next === undefined) return { done: { replaced } };
  const { name: node, image, version } = next;
  const request = operationRequest(rolloutNode, { name, node, version: `${image}:${version}`, ...drain });
  const attempt = (moves.get(node)?.attempt ?? 0) + 1;
  await run.desk().submit({ ...request, id: moveId(parent, 'to', node, attempt), by, parent });
  return { againMs: maxCheckMs, sentence: done };
}

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
