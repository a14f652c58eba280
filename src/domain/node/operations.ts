// The operations on single nodes. All of them drain the node first if its pool belongs to a cluster.
import * as z from 'zod';
import { drainFields } from '../drain/fields.ts';
import { declareOperation } from '../operation/declaration.ts';
import { drainsFirst } from '../pool/pool.ts';
import { name, querySwitch, request } from '../value/fields.ts';

const shared = {
  role: 'operator',
  subject: ({ pool }: { readonly pool: string }) => `pool/${pool}`,
  input: z.object({ pool: name, node: name, ...drainFields }),
} as const;

export const nodeRestart = declareOperation({
  kind: 'node-restart',
  ...shared,
  routes: {
    restartNode: {
      address: 'POST /v1/nodes/{node}/restart',
      tag: 'Nodes',
      summary: 'Restart a node',
      description: drainsFirst,
      body: request('RestartNodeRequest', drainFields),
      bodyOptional: true,
      command: {
        words: 'node restart',
        examples: [['imago node restart web-000003', 'Drain it, restart it, and let pods return']],
        done: 'Node {node} was restarted',
      },
    },
  },
});

export const nodeReplace = declareOperation({
  kind: 'node-replace',
  ...shared,
  routes: {
    replaceNode: {
      address: 'POST /v1/nodes/{node}/replace',
      tag: 'Nodes',
      summary: 'Replace a node by a new one of the image of its pool',
      description: `Everything on its disk is lost. ${drainsFirst}`,
      body: request('ReplaceNodeRequest', drainFields),
      bodyOptional: true,
      command: {
        words: 'node replace',
        irreversible: true,
        examples: [['imago node replace web-000003 --yes', 'Replace a node that misbehaves']],
        done: 'Node {node} was replaced',
      },
    },
  },
});

export const nodeDelete = declareOperation({
  kind: 'node-delete',
  ...shared,
  routes: {
    deleteNode: {
      address: 'DELETE /v1/nodes/{node}',
      tag: 'Nodes',
      summary: 'Delete a node, and lower the capacity of its pool by one',
      description: drainsFirst,
      query: z.strictObject({ noDrain: querySwitch.describe(drainFields.noDrain.description ?? '') }),
      command: {
        words: 'node delete',
        irreversible: true,
        examples: [['imago node delete web-000003 --yes', 'Delete it without a prompt']],
        done: 'Node {node} is deleted',
      },
    },
  },
});
