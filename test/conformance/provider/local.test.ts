// The local provider keeps what the roles promise, over disks of the real store and machines that are played.
import { createFakeMachineHost } from '../../support/fake-machine-host.ts';
import { createLocalBench } from '../../support/local-bench.ts';
import { until } from '../../support/until.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

async function makeLocal(): Promise<ProviderUnderTest> {
  const bench = await createLocalBench();
  const provider = await bench.open(createFakeMachineHost());
  return {
    provider,
    sealDisk: (text) => bench.sealDisk(text),
    settle: async (done) => void (await until('it settles', done)),
    async close() {
      await provider.close();
      await bench.end();
    },
  };
}

describeProvider('local', makeLocal, {
  lacks: {
    builder: 'the daemon gives it one',
    regions: 'a computer is one place',
    regionFaults: 'a computer is one place',
  },
  size: 'tiny',
  nodes: 2,
});
