// The operation that makes a prototype of a pool from one of its nodes.
import * as z from 'zod';
import { drainFields } from '../drain/fields.ts';
import { declareOperation } from '../operation/declaration.ts';
import { parseWindow } from '../rollout/window.ts';
import { parseDuration } from '../value/duration.ts';
import { checkedText, name, request } from '../value/fields.ts';

const duration = checkedText(parseDuration);

/** What decides which nodes can be captured. */
const donorFields = {
  node: name.optional().describe('Node to capture. Defaults to the best candidate; all rules apply to it.'),
  minReady: duration.default('1h').describe('How long the node must have been ready, such as 24h.'),
  unpatched: z.boolean().default(false).describe('Also consider nodes without newer patches.'),
};
export const donorQuestion = request('DonorQuestion', donorFields);
export type DonorQuestion = z.output<typeof donorQuestion>;

const captureFields = {
  ...donorFields,
  ...drainFields,
  readyTimeout: duration.default('15m').describe('How long the node can take to be ready again.'),
  keep: z.int().min(2).max(100).default(3).describe('Number of newest prototypes to keep.'),
};

export const capture = declareOperation({
  kind: 'capture',
  role: 'operator',
  subject: ({ name: pool }) => `pool/${pool}`,
  input: z.object({ name, ...captureFields }),
  routes: {
    capturePool: {
      address: 'POST /v1/pools/{pool}/capture',
      tag: 'Pools',
      summary: 'Make a prototype for new nodes from a node of a pool',
      description:
        'The node is drained, stopped, copied, and started again. The copy is cleaned, scanned, tested on two machines, and used for new nodes if it passes the gates for captured versions.',
      rename: { pool: 'name' },
      body: request('CaptureRequest', captureFields),
      bodyOptional: true,
    },
  },
});
export type CaptureInput = z.output<typeof capture.input>;

export const captureScheduled = declareOperation({
  kind: 'capture-scheduled',
  role: 'operator',
  subject: capture.subject,
  input: capture.input.extend({
    windows: z.array(checkedText(parseWindow)).max(20).default([]),
    /** Only if packages of the version that new nodes use are behind their archive. */
    whenOutdated: z.boolean().default(false),
  }),
  routes: {},
});
