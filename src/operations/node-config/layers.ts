// Layers of a node's config: the pool's, what the node has of its own, and hotfixes on top. A change of the pool's
// config reaches a node with a config of its own as a merge, so that it does not wipe the node's.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { withHotfix } from '../../domain/node-config/hotfix.ts';
import { mergeLayers } from '../../domain/node-config/merge-layers.ts';
import { planChanges } from '../../domain/node-config/plan-changes.ts';
import { nodeRules, readNodeConfig } from '../../domain/node-config/read-node-config.ts';
import { renderNodeConfig } from '../../domain/node-config/render.ts';
import type { HotfixConfig, NodeConfig } from '../../domain/node-config/schema.ts';
import { emptyConfig, readStoredConfig, storedText } from '../../domain/node-config/stored-config.ts';
import { someOf } from '../../domain/value/summarize-list.ts';
import { requireRole } from '../common/deps.ts';
import { inBatches, unlessGone } from '../common/in-batches.ts';
import type { PoolAccess } from '../node/pool-nodes.ts';
import type { ConfigBefore } from './before.ts';
import type { NodeTexts } from './send.ts';

/**
 * Returns what each node must read, from what it reads now: secrets of a node's own config are not recorded
 * anywhere else. Sending the result and calling this again returns the same.
 */
export async function layeredTexts(
  access: PoolAccess,
  pool: string,
  change: {
    readonly names: readonly string[];
    /** What nodes without a config of their own read. */
    readonly wanted: string;
    readonly hotfix: HotfixConfig | undefined;
  },
): Promise<NodeTexts> {
  const { names, wanted, hotfix } = change;
  const configs = requireRole(access.provider, 'nodeConfigs');
  const seen = await access.pools.getPool(pool, access.options);
  const model = seen && readText(seen.model.nodeConfig);
  const next = readText(wanted) ?? emptyConfig;
  const found = await inBatches(names, async (name) => {
    const text = await unlessGone(configs.getUserData(pool, name, access.options));
    if (text === undefined || model === undefined || text === seen?.model.nodeConfig) return wanted;
    const own = (await unlessGone(configs.hasOwnUserData(pool, name, access.options)))
      ? readText(text)
      : undefined;
    return own === undefined ? wanted : textOf(layered({ model, own, next }, hotfix));
  });
  return new Map(names.map((name, index) => [name, found[index] ?? wanted]));
}

interface Layers {
  readonly model: NodeConfig;
  readonly own: NodeConfig;
  readonly next: NodeConfig;
}

function layered({ model, own, next }: Layers, hotfix: HotfixConfig | undefined): NodeConfig {
  return hotfix === undefined ? mergeLayers(model, own, next) : withHotfix(own, hotfix);
}

/** `undefined` for a text that is not a node config: nothing of it can be kept. */
function readText(text: string): NodeConfig | undefined {
  if (text === '{}') return emptyConfig;
  try {
    return readNodeConfig(text, nodeRules).config;
  } catch (thrown) {
    if (thrown instanceof ImagoError) return undefined;
    throw thrown;
  }
}

function textOf(config: NodeConfig): string {
  return renderNodeConfig(config, {}, () => undefined).text;
}

/**
 * Describes what the change does to nodes with a config of their own, where that differs from what it does to the
 * pool. Throws `node-config-invalid` if the layers of a node do not fit together.
 */
export function ownConfigLines(
  before: ConfigBefore,
  next: NodeConfig,
  hotfix: HotfixConfig | undefined,
): readonly string[] {
  const model = readStoredConfig(before.model);
  const shared = changeLines(model, next);
  const nodes = new Map<string, string[]>();
  for (const { name, told, own } of before.nodes) {
    const text = typeof told === 'string' || !own ? undefined : told.own;
    const lines = text === undefined ? [] : mergedLines(readStoredConfig(text));
    if (told === 'unknown') lines.push('what it reads now is not a node config, and is replaced.');
    for (const line of lines) nodes.set(line, [...(nodes.get(line) ?? []), name]);
  }
  return [...nodes].map(([line, names]) => `Node ${someOf(names, 5)}: ${line}`);

  function mergedLines(own: NodeConfig): string[] {
    const merged = readStoredConfig(storedText(layered({ model, own, next }, hotfix)));
    const kept = planChanges(next, merged).map(({ field }) => field);
    return [
      ...(kept.length === 0 ? [] : [`keeps its own ${kept.join(', ')}.`]),
      ...changeLines(own, merged).filter((line) => !shared.includes(line)),
    ];
  }
}

export function changeLines(before: NodeConfig, after: NodeConfig): readonly string[] {
  return planChanges(before, after).map(({ sentence, cost }) => `${sentence} (${cost})`);
}
