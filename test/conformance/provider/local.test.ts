// The local provider keeps what the roles promise, over disks of the real store and machines that are played.
import { setTimeout as sleep } from 'node:timers/promises';
import { createFakeMachineHost } from '../../support/fake-machine-host.ts';
import { createLocalBench } from '../../support/local-bench.ts';
import { patience } from '../../support/speed.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

const patienceMs = patience(60_000);

async function makeLocal(): Promise<ProviderUnderTest> {
  const bench = await createLocalBench();
  const provider = await bench.open(createFakeMachineHost());
  return {
    provider,
    sealDisk: (text) => bench.sealDisk(text),
    async settle(done) {
      const end = performance.now() + patienceMs;
      while (!(await done())) {
        if (performance.now() > end) throw new Error('It did not settle within a minute.');
        await sleep(3);
      }
    },
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
