import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeLayers } from './merge-layers.ts';
import type { NodeConfig } from './schema.ts';

function config(sysctl: Record<string, number>, more: Partial<NodeConfig> = {}): NodeConfig {
  return { schemaVersion: 1, system: { sysctl }, ...more };
}

function hotfix(component: string, version: string) {
  return { component, version, source: `https://files.example.com/${component}`, sha256: 'a'.repeat(64) };
}

describe('mergeLayers', () => {
  const pool = config({ 'kernel.panic': 10, 'vm.swappiness': 1 });

  it('gives a node without a config of its own the new config of its pool', () => {
    const next = config({ 'kernel.panic': 30 });
    expect(mergeLayers(pool, pool, next)).toEqual(next);
  });

  it('keeps the values of the node, and takes all others from the pool', () => {
    const node = config({ 'kernel.panic': 20, 'vm.swappiness': 1, 'vm.max_map_count': 5 });
    const next = config({ 'kernel.panic': 30, 'vm.swappiness': 2, 'fs.file-max': 9 });
    expect(mergeLayers(pool, node, next)).toEqual(
      config({ 'kernel.panic': 20, 'vm.swappiness': 2, 'vm.max_map_count': 5, 'fs.file-max': 9 }),
    );
  });

  it('does not bring back what the node removed', () => {
    const node = config({ 'vm.swappiness': 1 });
    expect(mergeLayers(pool, node, config({ 'kernel.panic': 30, 'vm.swappiness': 2 }))).toEqual(
      config({ 'vm.swappiness': 2 }),
    );
  });

  it('merges keyed lists by item', () => {
    const [runc, cni] = [hotfix('runc', '1.4.3'), hotfix('cni', '1.2.0')];
    const node = config({ 'kernel.panic': 10, 'vm.swappiness': 1 }, { hotfixes: [cni] });
    expect(mergeLayers(pool, node, { ...pool, hotfixes: [runc] }).hotfixes).toEqual([runc, cni]);
  });

  it('changes nothing if it is applied again', () => {
    const values = fc.dictionary(fc.constantFrom('a.a', 'b.b', 'c.c'), fc.integer({ min: 0, max: 2 }));
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [was, own, next] = [config(a), config(b), config(c)];
        const once = mergeLayers(was, own, next);
        expect(mergeLayers(was, once, next)).toEqual(once);
      }),
    );
  });
});
