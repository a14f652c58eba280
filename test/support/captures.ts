// A pool that follows production on the simulated provider, with its cluster, and what captures of it may change.
import { expect } from 'vitest';
import type { Pod } from '../../src/domain/kube/objects.ts';
import type { OperationRecord, OperationRequest } from '../../src/ports/workflow/operation.ts';
import type { Product } from './product.ts';

export interface CaptureBench {
  readonly product: Product;
  succeed(kind: string, subject: string, input: OperationRequest['input']): Promise<OperationRecord>;
  release(containerd: string): Promise<void>;
  promote(version: string): Promise<void>;
  capture(input?: object): Promise<OperationRecord>;
  /** What new nodes of the pool are created from. */
  model(): string;
  /** The nodes as the provider and the cluster have them, without what only time changes. */
  nodes(): Promise<unknown>;
  /** Invariants I1, I2, I4, and I5 after a capture that did not succeed. */
  untouched(before: unknown, operation: OperationRecord): Promise<void>;
}

export async function captureBench(product: Product, capacity = 6): Promise<CaptureBench> {
  const kubectl = product.world.apiAs('kubectl');
  const bench: CaptureBench = {
    product,
    async succeed(kind, subject, input) {
      const operation = await product.run({ kind, subject, input });
      expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
      return operation;
    },
    async release(containerd) {
      const components = [{ name: 'containerd', version: containerd }];
      const recipe = { name: 'node', numbering: 'semver', components };
      const { result } = await bench.succeed('build', 'image/node', { recipe });
      const reference = `node:${(result as { version: string }).version}`;
      await bench.succeed('test', `image/${reference}`, { reference });
    },
    async promote(version) {
      const input = { reference: `node:${version}`, channel: 'production', why: 'test' };
      await bench.succeed('promote', 'image/node', input);
    },
    capture: (input = {}) =>
      product.run({
        kind: 'capture',
        subject: 'pool/web',
        input: { name: 'web', unpatched: true, minReady: '0s', ...input },
      }),
    model() {
      const pool = product.sim.world.view().pools.find(({ name }) => name === 'web');
      return `${pool?.model.image}:${pool?.model.version}`;
    },
    async nodes() {
      const objects = (await kubectl.list('nodes')).items;
      const power = product.sim.world.view().nodes.map((node) => ({
        ...{ name: node.name, machineId: node.machineId, power: node.power, version: node.version },
        protection: node.protection,
      }));
      return {
        power,
        objects: objects.map(({ metadata, spec }) => ({
          ...{ name: metadata.name, uid: metadata.uid, annotations: metadata.annotations ?? {} },
          unschedulable: spec?.unschedulable === true,
        })),
      };
    },
    async untouched(before, operation) {
      expect(operation).toMatchObject({ exceptions: [] });
      expect(operation.state).not.toBe('succeeded');
      expect(await bench.nodes()).toEqual(before);
      expect(product.sim.world.view()).toMatchObject({ snapshots: [], machines: [] });
      expect(bench.model()).toBe('node:1.0.0');
      expect(await product.store.fleet.getPool('web')).not.toHaveProperty('base');
    },
  };
  await bench.release('1.7.24');
  await bench.promote('1.0.0');
  const pool = { name: 'web', reference: 'node:production', capacity };
  await bench.succeed('pool-create', 'pool/web', pool);
  return bench;
}

/** Runs a workload: pods with a controller, spread over the nodes. */
export async function workload({ world }: Product, replicas: number): Promise<void> {
  const kubectl = world.apiAs('kubectl');
  const labels = { app: 'web' };
  await kubectl.create('namespaces', { metadata: { name: 'default' } });
  await kubectl.create('replicasets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web' }] } },
    },
  } as never);
}

export async function podsOn({ world }: Product, node: string): Promise<readonly Pod[]> {
  const fieldSelector = `spec.nodeName=${node}`;
  return (await world.apiAs('kubectl').list('pods', { fieldSelector })).items;
}
