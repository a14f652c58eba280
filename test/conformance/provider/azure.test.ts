// The Azure provider keeps what the roles promise, over the emulator.
import { expect, test } from 'vitest';
import { azureJobs, rightsOf } from '../../../src/domain/azure/roles.ts';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import { createAzureBench } from '../../support/azure-bench.ts';
import { refusal } from './checks.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

const hours = 3_600_000;
const options = { signal: new AbortController().signal, epoch: 1 };
const called = new Set<string>();

async function makeAzure(): Promise<ProviderUnderTest> {
  const bench = await createAzureBench({ onCall: (right) => called.add(right) });
  return {
    provider: bench.provider,
    sealDisk: (text) => bench.sealDisk(text),
    async settle(done) {
      const end = bench.time.now() + 6 * hours;
      while (!(await done())) {
        if (bench.time.now() > end) throw new Error('It did not settle within six hours of emulated time.');
        await bench.time.advance(5_000);
      }
    },
    close: () => bench.end(),
  };
}

/** The suite prefers uniform pools where there are both. */
async function makeUniform(): Promise<ProviderUnderTest> {
  const under = await makeAzure();
  const { nodeConfigs: _, ...provider } = under.provider;
  return { ...under, provider };
}

async function makeFlexible(): Promise<ProviderUnderTest> {
  const under = await makeAzure();
  const { abilities, pools } = under.provider;
  if (pools === undefined) throw new Error('The provider has no pools.');
  return {
    ...under,
    provider: {
      ...under.provider,
      abilities: { ...abilities, orchestration: ['flexible'], reimage: false, upgrade: false },
      pools: {
        ...pools,
        async createPool(spec, options) {
          if (spec.orchestration === 'uniform') throw new ImagoError('provider-lacks', 'not in this suite');
          await pools.createPool(spec, options);
        },
      },
    },
  };
}

const always = {
  machines: 'machines in Azure cannot report yet',
  builder: 'images are built on the host',
  galleryDigest: 'Azure does not tell the digest of a disk',
  runCommand: 'our images have no agent of Microsoft',
  fencing: 'Azure does not compare epochs',
  regionFaults: 'the emulator cannot be told to fail a region',
};
const size = 'Standard_D2s_v5';

describeProvider('azure', makeUniform, {
  lacks: { ...always, nodeConfigs: 'Azure does not change the userData of instances of uniform scale sets' },
  size,
  nodes: 2,
});

describeProvider('azure with flexible scale sets', makeFlexible, {
  lacks: {
    ...always,
    uniform: 'the suite uses flexible scale sets here',
    reimage: 'nodes of flexible scale sets are replaced',
    upgrade: 'nodes of flexible scale sets are replaced',
  },
  size,
  nodes: 2,
});

test('a node of a uniform scale set reports, shows its console, and gets no config but that of its pool', async () => {
  const { provider, sealDisk, settle, close } = await makeAzure();
  try {
    const { gallery, pools, nodeConfigs, access } = provider;
    if (!gallery || !pools || !nodeConfigs || !access) throw new Error('The provider lacks a role.');
    const [first, second] = [10, 20].map((value) =>
      JSON.stringify({ schemaVersion: 1, system: { sysctl: { 'kernel.panic': value } } }),
    );
    const { digest, diskDigest } = await sealDisk('a', options);
    await gallery.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
    const source = { kind: 'disk', digest: diskDigest } as const;
    const spec = {
      image: 'node',
      version: '1.0.0',
      source,
      regions: [{ region: 'westeurope', replicas: 1 }],
    };
    await gallery.createVersion({ ...spec, excludeFromLatest: false, tags: {} }, options);
    await settle(async () => (await gallery.getVersion('node', '1.0.0', options))?.state === 'ready');
    const model = { image: 'node', version: '1.0.0', digest, size, nodeConfig: first ?? '', tags: {} };
    await pools.createPool({ name: 'web', orchestration: 'uniform', model, capacity: 1 }, options);
    await settle(
      async () => (await pools.listNodes('web', { limit: 9 }, options)).items[0]?.state === 'ready',
    );
    const [node] = (await pools.listNodes('web', { limit: 9 }, options)).items;
    if (node === undefined) throw new Error('The pool has no node.');
    const report = () => nodeConfigs.getReport('web', node.name, options);
    await settle(async () => (await report())?.phase === 'ready');
    expect(await report()).toMatchObject({ machineId: node.machineId });
    expect(await access.console(node.machineId, 5)).toContainEqual(
      expect.stringContaining('imago-agent: ready'),
    );
    expect(await access.timeline(node.machineId)).toMatchObject({ phase: 'ready' });
    await refusal(nodeConfigs.setUserData('web', node.name, second ?? '', options), 'provider-lacks');
    await pools.setModel('web', { ...model, nodeConfig: second ?? '' }, {}, options);
    expect(await nodeConfigs.getUserData('web', node.name, options)).toBe(first);
    await nodeConfigs.setUserData('web', node.name, second ?? '', options);
    expect(await nodeConfigs.getUserData('web', node.name, options)).toBe(second);
    expect(await pools.getNode('web', node.name, options)).toMatchObject({
      imagedAt: node.imagedAt,
      latestModelApplied: true,
    });
  } finally {
    await close();
  }
});

test('the roles of `imago azure roles` grant what all these requests needed, and nothing that none needed', () => {
  const granted = new Set(azureJobs.flatMap(rightsOf));
  expect([...called].filter((right) => !granted.has(right))).toEqual([]);
  const unneeded = [...granted].filter(
    (right) => !called.has(right) && !/\/locations\/|Network\//.test(right),
  );
  // Scale sets with automatic repair need the first, and nodes that are reimaged to the model that they have the second.
  expect(unneeded).toEqual([
    'Microsoft.Compute/virtualMachineScaleSets/setOrchestrationServiceState/action',
    'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/reimage/action',
  ]);
});
