import { expect, test } from 'vitest';
import type { KubeNode } from '../../domain/kube/objects.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { type Probing, probeNodes } from './probes.ts';

test.each([
  { probe: 'condition Ready', pauses: 0, reason: 'it is False' },
  { probe: 'http http://{address:80}/', pauses: 2, reason: 'HTTP 503' },
])('$probe is tried again only if its answer can be another one', async ({ probe, pauses, reason }) => {
  let slept = 0;
  const run = {
    prober: { status: async () => 503 },
    clock: {
      async sleep() {
        slept += 1;
      },
    },
    signal: new AbortController().signal,
  } as unknown as Probing;
  const node = { name: 'web-1', address: '192.0.2.1' } as ProviderNode;
  const object: KubeNode = {
    metadata: { name: 'web-1' },
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  };
  const results = await probeNodes(run, [probe], [{ node, object }]);
  expect(results.get('web-1')).toEqual({ hasFailed: true, reason: `probe \`${probe}\`: ${reason}` });
  expect(slept).toBe(pauses);
});
