import { expect, it } from 'vitest';
import { readAgentFacts } from './agent-facts.ts';
import type { DiskTree } from './disk-tree.ts';

function treeOf(files: Readonly<Record<string, string>>): DiskTree {
  return {
    list: (folder: string) =>
      Object.keys(files).flatMap((path) => (path.startsWith(`${folder}/`) ? [{ path }] : [])),
    readText: async (path: string) => files[path],
  } as unknown as DiskTree;
}

it('tells the abilities of the agent and the versions of components that it can choose from', async () => {
  const tree = treeOf({
    '/usr/lib/imago/abilities.json': '{"schema":"1.0","abilities":["cni","swap"]}',
    '/usr/lib/imago/components/kubelet.json': '{"versions":[{"version":"1.34.2"},{"version":"1.34.3"}]}',
    '/usr/lib/imago/components/odd.json': 'not JSON',
  });
  expect(await readAgentFacts(tree)).toEqual({
    abilities: ['cni', 'swap'],
    components: { kubelet: ['1.34.2', '1.34.3'] },
  });
});

it('tells nothing of a disk without an agent, or with one that cannot be understood', async () => {
  expect(await readAgentFacts(treeOf({}))).toBeUndefined();
  expect(await readAgentFacts(treeOf({ '/usr/lib/imago/abilities.json': '[' }))).toBeUndefined();
});
