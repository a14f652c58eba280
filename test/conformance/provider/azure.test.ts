// The Azure provider keeps what the roles promise, over the emulator.
import { expect, test } from 'vitest';
import { azureJobs, rightsOf } from '../../../src/domain/azure/roles.ts';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import { createAzureBench } from '../../support/azure-bench.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

const hours = 3_600_000;
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
  nodeConfigs: 'nodes in Azure cannot report yet',
  machines: 'machines in Azure cannot report yet',
  builder: 'images are built on the host',
  galleryDigest: 'Azure does not tell the digest of a disk',
  runCommand: 'our images have no agent of Microsoft',
  fencing: 'Azure does not compare epochs',
  regionFaults: 'the emulator cannot be told to fail a region',
};
const size = 'Standard_D2s_v5';

describeProvider('azure', makeAzure, { lacks: always, size, nodes: 2 });

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
