// The operation that changes node configs.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { withHotfix } from './hotfix.ts';
import type { HotfixConfig, NodeConfig } from './schema.ts';
import { emptyConfig, readStoredConfig, storedText } from './stored-config.ts';

const setFields = {
  document: z
    .string()
    .max(512 * 1024)
    .optional()
    .describe(
      'Node config, as JSON. It references secrets by name, as `secret:NAME`. Hotfixes are kept unless it has `hotfixes`.',
    ),
  hotfix: z
    .record(z.string(), z.json())
    .optional()
    .describe('One component to add to the current config: an item of `hotfixes`.'),
};

const body = z
  .strictObject(setFields)
  .meta({ id: 'SetConfigRequest', description: 'Exactly one of the two.' });

export interface ConfigChange {
  readonly document?: string | undefined;
  readonly hotfix?: Readonly<Record<string, unknown>> | undefined;
}

export const nodeConfigSet = declareOperation({
  kind: 'node-config-set',
  role: 'operator',
  subject: ({ pool }) => `pool/${pool}`,
  input: z
    .object({
      pool: z.string(),
      /** Only this node of the pool; the pool and its other nodes stay as they are. */
      node: z.string().optional(),
      ...setFields,
    })
    .refine(({ document, hotfix }) => (document === undefined) !== (hotfix === undefined), {
      message: 'needs one of document and hotfix',
    })
    .transform((input) => {
      wantedConfig(input, emptyConfig);
      return input;
    }),
  routes: {
    setPoolConfig: {
      address: 'POST /v1/pools/{pool}/config',
      tag: 'Pools',
      summary: 'Change the node config of a pool and its nodes in place',
      description:
        'One node applies it first. Changes that need a drain or a new disk stay pending on the nodes.',
      body,
    },
    setNodeConfig: {
      address: 'POST /v1/nodes/{node}/config',
      tag: 'Nodes',
      summary: 'Change the node config of one node in place',
      description: 'The config of its pool is not changed; a new disk restores it.',
      body,
    },
  },
});

/**
 * The config after the change. A document without `hotfixes` keeps the current ones. Throws `node-config-invalid` if the
 * result is not a valid config.
 */
export function wantedConfig(change: ConfigChange, before: NodeConfig): NodeConfig {
  const hotfix = hotfixOf(change);
  if (hotfix !== undefined) return readStoredConfig(storedText(withHotfix(before, hotfix)));
  const { hotfixes } = before;
  const config = readStoredConfig(change.document ?? '{}');
  return config.hotfixes === undefined && hotfixes !== undefined ? { ...config, hotfixes } : config;
}

/** The hotfix of the change. Its fields are checked by `wantedConfig`. */
export function hotfixOf({ hotfix }: ConfigChange): HotfixConfig | undefined {
  return hotfix as HotfixConfig | undefined;
}
