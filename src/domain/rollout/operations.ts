// The operations of a rollout: one for the pool, and one for each node that it moves.
import * as z from 'zod';
import { drainFields } from '../drain/fields.ts';
import { declareOperation } from '../operation/declaration.ts';
import { parseDuration } from '../value/duration.ts';
import { checkedText, name, request } from '../value/fields.ts';
import { parseBudget, parseShare } from './plan.ts';
import { parseProbe } from './probe.ts';
import { parseWindow } from './window.ts';

const subject = ({ name: pool }: { readonly name: string }) => `pool/${pool}`;
export const startFields = {
  reference: name
    .optional()
    .describe('Image, as NAME:VERSION or NAME:CHANNEL. Defaults to the image of new nodes.'),
  maxUnavailable: checkedText(parseShare).default('1').describe('Nodes to move at a time: N or N%.'),
  budgets: z
    .array(checkedText(parseBudget))
    .max(3)
    .default([])
    .describe(
      'Other limits than max-unavailable: REASON=N or REASON=N%, for nodes that do not serve (`broken`), that run a withdrawn version (`withdrawn`), or that return from a version that failed (`return`).',
    ),
  maxFailed: checkedText((value) => value === '0' || parseShare(value))
    .default('0')
    .describe('Nodes that can fail after the canaries before the pool is rolled back: N or N%.'),
  waves: z
    .array(checkedText(parseShare))
    .max(10)
    .default(['10%', '50%'])
    .describe('Cumulative sizes of the waves between the canaries and the rest: N or N%.'),
  bake: checkedText(parseDuration).default('5m').describe('How long to observe each wave, such as 10m.'),
  probes: z
    .array(checkedText(parseProbe, 500))
    .max(20)
    .default([])
    .describe(
      'What must hold on moved nodes: `http URL`, `condition TYPE[=STATUS]`, `command PROGRAM [ARGUMENT…]`, or `promql SERVER QUERY`, with {node} and {address:PORT} for those of each node.',
    ),
  probeTimeout: checkedText(parseDuration)
    .default('5m')
    .describe('How long probes can fail after a node has moved, such as 5m.'),
  windows: z
    .array(checkedText(parseWindow))
    .max(20)
    .default([])
    .describe('Times in which nodes start to move, such as "Mon-Fri 22:00-06:00 Europe/Paris".'),
  ...drainFields,
  retryBad: z.boolean().default(false).describe('Allow a version that was rolled back in this pool before.'),
};
const undoFields = {
  ...drainFields,
  now: z
    .boolean()
    .default(false)
    .describe('Move all nodes concurrently, without canaries, windows, and drains.'),
};

export const rollout = declareOperation({
  kind: 'rollout',
  role: 'operator',
  subject,
  input: z.object({ name, ...startFields, ...undoFields, undo: z.boolean().default(false) }),
  routes: {
    startRollout: {
      address: 'POST /v1/pools/{pool}/rollout',
      tag: 'Pools',
      summary: 'Move the nodes of a pool to a version, in waves',
      description:
        'Two canaries move first. If a moved node fails, all nodes return to the last good version, and the version is refused in this pool.',
      rename: { pool: 'name' },
      body: request('StartRolloutRequest', startFields),
      bodyOptional: true,
      command: {
        words: 'rollout start',
        examples: [
          ['imago rollout start web --dry-run', 'Preview the waves'],
          ['imago rollout start web --reference node:1.34.2 --max-unavailable 10%', 'Move a tenth at a time'],
        ],
        done: 'The nodes of pool {name} run {image}:{version}',
      },
    },
    undoRollout: {
      address: 'POST /v1/pools/{pool}/rollout/undo',
      tag: 'Pools',
      summary: 'Return the nodes of a pool to the version before its last rollout',
      description: 'A rollout that is still running is cancelled first.',
      rename: { pool: 'name' },
      body: request('UndoRolloutRequest', undoFields),
      bodyOptional: true,
      command: {
        words: 'rollout undo',
        examples: [['imago rollout undo web --now', 'Move everything concurrently in an outage']],
        done: 'The nodes of pool {name} run {image}:{version}',
      },
    },
  },
});

const seriesFields = {
  pools: z
    .array(name)
    .min(1)
    .max(100)
    .refine((pools) => new Set(pools).size === pools.length, 'names a pool twice')
    .describe('Pools in their order: each begins when the previous one has succeeded.'),
  ...startFields,
};

export const rolloutSeries = declareOperation({
  kind: 'rollout-series',
  role: 'operator',
  subject: ({ pools }) => `rollout/${pools[0]}`,
  key: (_, id) => `rollout/${id}`,
  input: z.object(seriesFields),
  routes: {
    startRolloutSeries: {
      address: 'POST /v1/rollouts',
      tag: 'Pools',
      summary: 'Move several pools to a version, one after the other',
      description: 'A pool that is rolled back ends it: the pools after it are not touched.',
      body: request('StartRolloutSeriesRequest', seriesFields),
      command: {
        words: 'rollout series',
        examples: [
          [
            'imago rollout series --pools canary --pools web --reference node:1.34.2',
            'Move pool web after pool canary',
          ],
        ],
        done: 'Moved, in this order: {pools}',
      },
    },
  },
});

export const rolloutNode = declareOperation({
  kind: 'rollout-node',
  role: 'operator',
  subject,
  /** `version`: the one that the node leaves, as NAME:VERSION. */
  input: z.object({ name, node: name, version: name, ...drainFields }),
  routes: {},
});
