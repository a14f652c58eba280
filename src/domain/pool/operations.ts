// The operations on pools.
import * as z from 'zod';
import { emptyConfig, readStoredConfig, storedText } from '../node-config/stored-config.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name, reason } from '../value/fields.ts';
import { checkName } from '../value/name.ts';
import { orchestrations } from './pool.ts';
import { formatPortForward, parsePortForward } from './port-forward.ts';

const capacity = z.int().min(0).max(100_000);
const pin = z.boolean().default(false).describe('Do not follow the channel.');
const poolPath = z.strictObject({ pool: name });
const subject = ({ name: pool }: { readonly name: string }) => `pool/${pool}`;

const createFields = {
  name,
  reference: name.describe('The image: NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.'),
  capacity,
  size: name.default('small').describe('Machine size, as the provider calls it.'),
  provider: name.optional().describe("Defaults to the daemon's own."),
  pin,
  region: name.optional(),
  orchestration: z.enum(orchestrations).default('uniform'),
  nodeConfig: z
    .string()
    .max(512 * 1024)
    .default(storedText(emptyConfig))
    .describe('The node config document, as JSON. Secrets are listed by name, as `secret:NAME`.'),
  forwards: z
    .array(z.string().max(11))
    .max(32)
    .default([])
    .describe('Ports of the nodes that are reached through their host: PORT or HOST:PORT.'),
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
      summary: 'Create a pool from a version or a channel',
      body: z.strictObject(createFields),
    },
  },
});

const scaleFields = {
  capacity,
  expect: capacity.optional().describe('Refuse unless the pool has this many nodes, or `capacity` already.'),
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
      summary: 'Change how many nodes a pool has',
      path: poolPath,
      rename: { pool: 'name' },
      body: z.strictObject(scaleFields),
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
      summary: 'Change what new nodes of a pool are created from',
      description: 'Existing nodes stay as they are.',
      path: poolPath,
      rename: { pool: 'name' },
      body: z.strictObject({ reference: name, pin }),
    },
  },
});

export const poolDelete = declareOperation({
  kind: 'pool-delete',
  role: 'operator',
  subject,
  input: z.object({ name, expect: z.int().min(0).optional() }),
  routes: {
    deletePool: {
      address: 'DELETE /v1/pools/{pool}',
      tag: 'Pools',
      summary: 'Delete a pool and all its nodes',
      path: poolPath,
      rename: { pool: 'name' },
      query: z.strictObject({
        expect: z.coerce
          .number<number>()
          .int()
          .min(0)
          .optional()
          .describe('Refuse unless the pool has this many nodes.'),
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
  }),
  routes: {},
});
