// The config of a pool and its nodes before an operation, in a form that can be recorded: undo restores it.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { readStoredConfig, storedText } from '../../domain/node-config/stored-config.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settle } from '../../workflow/poll-until.ts';
import { type OperationDeps, requireRole } from '../common/deps.ts';
import { inBatches, unlessGone } from '../common/in-batches.ts';
import { type OpenPool, type PoolAccess, poolNodes, requireSeen, waiting } from '../node/pool-nodes.ts';
import { recordableConfig, renderText } from './text.ts';

/** What a node reads: the model's document, its own, or something that cannot be recorded. */
type Told = 'model' | 'unknown' | { readonly own: string };

export interface NodeBefore {
  readonly name: string;
  readonly told: Told;
  /** Whether it had the pool's latest model. */
  readonly latest: boolean;
  /** Whether it was given a config itself, rather than that of an earlier model. */
  readonly own: boolean;
}

export interface ConfigBefore {
  /** As the pool stores it. */
  readonly pool: string;
  /** As the provider's model has it. */
  readonly model: string;
  /** Those that run come first. */
  readonly nodes: readonly NodeBefore[];
  /** What the nodes run, and what the pool's next ones will. */
  readonly versions: readonly ImageVersion[];
}

interface ImageVersion {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
}

export async function readBefore(
  deps: OperationDeps,
  access: OpenPool,
  only: string | undefined,
): Promise<ConfigBefore> {
  const { pool } = access;
  const seen = await requireSeen(access, pool.name);
  const known = readStoredConfig(pool.nodeConfig);
  const record = (text: string) => recordable(deps, text, known);
  const configs = requireRole(access.provider, 'nodeConfigs');
  const live: ProviderNode[] = [];
  for await (const node of poolNodes(access, pool.name)) {
    if (node.state !== 'deleting' && (only === undefined || node.name === only)) live.push(node);
  }
  const found = await inBatches(live, async ({ name, power, latestModelApplied: latest }) => {
    const text = await unlessGone(configs.getUserData(pool.name, name, access.options));
    if (text === undefined) return undefined;
    const told = await toldBy(text, seen.model.nodeConfig, record);
    const own =
      told !== 'model' && (await unlessGone(configs.hasOwnUserData(pool.name, name, access.options)));
    return { name, power, latest, told, own: own === true };
  });
  const nodes = found.filter((node) => node !== undefined);
  if (only !== undefined && nodes.length === 0) {
    throw new ImagoError('node-not-found', `Pool ${pool.name} has no node ${only}.`);
  }
  const model = await record(seen.model.nodeConfig);
  const ordered = nodes.toSorted((a, b) => Number(b.power === 'running') - Number(a.power === 'running'));
  return {
    pool: pool.nodeConfig,
    model: model ?? storedText(known),
    nodes: ordered.map(({ power: _power, ...node }) => node),
    versions: versionsOf(only === undefined ? [...live, seen.model] : live),
  };
}

function versionsOf(runs: readonly Partial<ImageVersion>[]): readonly ImageVersion[] {
  const found = new Map<string, ImageVersion>();
  for (const { image, version, digest } of runs) {
    if (image === undefined || version === undefined || digest === undefined) continue;
    found.set(digest, { image, version, digest });
  }
  return [...found.values()];
}

async function toldBy(
  text: string,
  model: string,
  record: (text: string) => Promise<string | undefined>,
): Promise<Told> {
  if (text === model) return 'model';
  const own = await record(text);
  return own === undefined ? 'unknown' : { own };
}

const nothing = '{}';
const upgradeDeadlineMs = 10 * 60_000;

async function recordable(deps: OperationDeps, text: string, known: NodeConfig): Promise<string | undefined> {
  if (text === nothing) return nothing;
  const config = await recordableConfig(deps, text, [known]);
  return config === undefined ? undefined : storedText(config);
}

/** The text of a recorded document. */
export async function renderRecorded(deps: OperationDeps, recorded: string): Promise<string> {
  return recorded === nothing ? nothing : renderText(deps, readStoredConfig(recorded), {});
}

/** What the config of the pool, or of the one node, was. */
export function configBefore(before: ConfigBefore, only: string | undefined): NodeConfig {
  const [node] = before.nodes;
  if (only === undefined || node === undefined) return readStoredConfig(before.pool);
  if (node.told === 'model') return readStoredConfig(before.model);
  if (node.told !== 'unknown') return readStoredConfig(node.told.own);
  throw new ImagoError('node-config-invalid', `What node ${only} reads now is not a node config.`, {
    hint: 'Give it an entire document with `imago node config set`.',
  });
}

/** Gives each node its config of before. Nodes that no longer exist are skipped. */
export async function putBack(
  deps: OperationDeps,
  access: PoolAccess,
  pool: string,
  nodes: readonly NodeBefore[],
): Promise<void> {
  const configs = requireRole(access.provider, 'nodeConfigs');
  await inBatches(nodes, async ({ name, told, latest }) => {
    const [seen, node] = await Promise.all([
      access.pools.getPool(pool, access.options),
      access.pools.getNode(pool, name, access.options),
    ]);
    if (seen === undefined || node === undefined) return;
    const text = typeof told === 'string' ? seen.model.nodeConfig : await renderRecorded(deps, told.own);
    await unlessGone(configs.setUserData(pool, name, text, access.options));
    if (latest && told === 'model') await bringToModel(access, pool, name);
  });
}

/**
 * Lets the provider know that a node has what the model says. Only where that changes nothing on the node: a node
 * of another image would get a new disk, and one with a config of its own would lose it.
 */
export async function bringToModel(access: PoolAccess, pool: string, name: string): Promise<void> {
  const { provider, pools, options } = access;
  const [seen, node] = await Promise.all([pools.getPool(pool, options), pools.getNode(pool, name, options)]);
  if (seen === undefined || node === undefined || node.latestModelApplied) return;
  if (!provider.abilities.upgrade || seen.orchestration !== 'uniform') return;
  const { model } = seen;
  if (node.image !== model.image || node.version !== model.version) return;
  if (node.digest !== undefined && node.digest !== model.digest) return;
  const text = await unlessGone(requireRole(provider, 'nodeConfigs').getUserData(pool, name, options));
  if (text !== model.nodeConfig) return;
  await unlessGone(pools.upgradeNode(pool, name, options));
  await settle(
    async () => {
      const now = await pools.getNode(pool, name, options);
      return now === undefined || (now.latestModelApplied && now.state === 'ready') ? true : undefined;
    },
    waiting(access, `Node ${name}`, upgradeDeadlineMs),
  );
}
