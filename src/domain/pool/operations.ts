// The operations on pools.
import * as z from 'zod';
import { drainFields } from '../drain/fields.ts';
import { emptyConfig, readStoredConfig, storedText } from '../node-config/stored-config.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name, querySwitch, reason, request } from '../value/fields.ts';
import { checkName } from '../value/name.ts';
import { drainsFirst } from './pool.ts';
import { formatPortForward, parsePortForward } from './port-forward.ts';
import { orchestrations } from './record.ts';

const capacity = z.int().min(0).max(100_000);
const pin = z.boolean().default(false).describe('Do not follow the channel.');
const subject = ({ name: pool }: { readonly name: string }) => `pool/${pool}`;

const createFields = {
  name,
  reference: name.describe('Image, as NAME:VERSION, NAME:CHANNEL, or NAME@sha256:DIGEST.'),
  capacity,
  size: name.default('small').describe('Provider-specific machine size.'),
  provider: name.optional().describe("Defaults to the daemon's provider."),
  pin,
  region: name.optional(),
  orchestration: z.enum(orchestrations).default('uniform'),
  nodeConfig: z
    .string()
    .max(512 * 1024)
    .default(storedText(emptyConfig))
    .describe('Node config, as JSON. It references secrets by name, as `secret:NAME`.'),
  cluster: name
    .optional()
    .describe('Kubernetes cluster that its nodes belong to. Simulated pools belong to `sim`.'),
  forwards: z
    .array(z.string().max(11))
    .max(32)
    .default([])
    .describe('Node ports to forward to their host: PORT or HOST_PORT:PORT.'),
};

export const poolCreate = declareOperation({
  kind: 'pool-create',
  role: 'operator',
  subject,
  input: z.object(createFields).transform((input) => ({
    ...input,
    name: checkName('pool', input.name),
    forwards: input.forwards.map((text) => formatPortForward(parsePortForward(text))),
    nodeConfig: storedText(readStoredConfig(input.nodeConfig)),
  })),
  routes: {
    createPool: {
      address: 'POST /v1/pools',
      tag: 'Pools',
      summary: 'Create a pool from a version or channel',
      body: request('CreatePoolRequest', createFields),
    },
  },
});

const scaleFields = {
  capacity,
  expect: capacity.optional().describe('Fail unless the pool has this many nodes, or already `capacity`.'),
  ...drainFields,
};

export const poolScale = declareOperation({
  kind: 'pool-scale',
  role: 'operator',
  subject,
  input: z.object({ name, ...scaleFields }),
  routes: {
    scalePool: {
      address: 'POST /v1/pools/{pool}/scale',
      tag: 'Pools',
      summary: 'Set the number of nodes in a pool',
      rename: { pool: 'name' },
      body: request('ScalePoolRequest', scaleFields),
    },
  },
});

export const poolSetImage = declareOperation({
  kind: 'pool-set-image',
  role: 'operator',
  subject,
  input: z.object({ name, reference: name, pin }),
  routes: {
    setPoolImage: {
      address: 'POST /v1/pools/{pool}/image',
      tag: 'Pools',
      summary: 'Set the image of new nodes in a pool',
      description: 'Existing nodes are not changed.',
      rename: { pool: 'name' },
      body: request('SetPoolImageRequest', { reference: name, pin }),
    },
  },
});

const clusterFields = { cluster: name.optional().describe('Defaults to no cluster.') };

export const poolSetCluster = declareOperation({
  kind: 'pool-set-cluster',
  role: 'operator',
  subject,
  input: z.object({ name, ...clusterFields }),
  routes: {
    setPoolCluster: {
      address: 'POST /v1/pools/{pool}/cluster',
      tag: 'Pools',
      summary: 'Set the Kubernetes cluster that the nodes of a pool belong to',
      description: 'Nodes are not changed: their config determines which cluster they join.',
      command: {
        words: 'pool set-cluster',
        examples: [
          ['imago pool set-cluster web --cluster production', 'Drain its nodes in this cluster'],
          ['imago pool set-cluster web', 'Remove the pool from its cluster'],
        ],
        done: 'The cluster of pool {name} is set',
      },
      rename: { pool: 'name' },
      body: request('SetPoolClusterRequest', clusterFields),
      bodyOptional: true,
    },
  },
});

export const poolDelete = declareOperation({
  kind: 'pool-delete',
  role: 'operator',
  subject,
  input: z.object({ name, expect: z.int().min(0).optional(), ...drainFields }),
  routes: {
    deletePool: {
      address: 'DELETE /v1/pools/{pool}',
      tag: 'Pools',
      summary: 'Delete a pool and all its nodes',
      command: {
        words: 'pool delete',
        details: `This is irreversible. The record of what its nodes were created from is retained. ${drainsFirst}`,
        irreversible: true,
        examples: [
          ['imago pool delete web --expect 3 --yes', 'Delete it without a prompt if it has three nodes'],
        ],
        done: 'Pool {name} is deleted',
      },
      rename: { pool: 'name' },
      query: z.strictObject({
        expect: z.coerce
          .number<number>()
          .int()
          .min(0)
          .optional()
          .describe('Fail unless the pool has this many nodes.'),
        noDrain: querySwitch.describe(drainFields.noDrain.description ?? ''),
      }),
    },
  },
});

export const replaceNodes = declareOperation({
  kind: 'replace-nodes',
  role: 'operator',
  subject,
  input: z.object({
    name,
    /** The versions whose nodes are replaced, as NAME:VERSION. */
    versions: z.array(z.string()).min(1),
    /** What the pool's model is set to first, such as the channel that it follows. */
    follow: z.string().optional(),
    why: reason,
    ...drainFields,
  }),
  routes: {},
});
