// The simulated provider keeps what the roles promise, as a whole cloud and as a single place with less.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lock } from '../../../src/domain/lock/lock.ts';
import { createSimProvider, type SimProviderOptions } from '../../../src/providers/sim/provider.ts';
import { createVirtualClock } from '../../support/sim/virtual-clock.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

const hours = 3_600_000;

async function makeSim(given: SimProviderOptions = {}): Promise<ProviderUnderTest> {
  const clock = createVirtualClock();
  const provider = createSimProvider({ clock, ceilings: {}, ...given });
  async function settle(done: () => Promise<boolean>): Promise<void> {
    const end = clock.now() + 6 * hours;
    while (!(await done())) {
      if (clock.now() > end) throw new Error('It did not settle within six hours of simulated time.');
      await clock.advance(5_000);
    }
  }
  return {
    provider,
    settle,
    async sealDisk(text, options) {
      const silent = { progress: () => undefined, log: () => undefined };
      let ended = false;
      const disk = provider.builder
        .build({ lockDigest: `sha256:${text}`, lock: { text } as unknown as Lock }, silent, options)
        .finally(() => {
          ended = true;
        });
      await settle(async () => ended);
      return disk;
    },
    async failRegion(image, version, region) {
      provider.faults.add({
        kind: 'fails-later',
        call: 'gallery.createVersion',
        name: `${image}/${version}`,
        region,
      });
    },
    close: () => provider.close(),
  };
}

describeProvider('sim', makeSim, {
  lacks: {},
  size: 'small',
  nodes: 3,
  limited: {
    make: () => makeSim({ limits: { images: 3, versions: 4, nodesPerPool: 4 } }),
    images: 3,
    versions: 4,
    nodesPerPool: 4,
  },
});

const nowhere = 'the simulation plays a provider with one place';

describeProvider(
  'sim with one place and uniform pools, in a file',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'imago-sim-'));
    const under = await makeSim({
      file: join(folder, 'world.sqlite'),
      abilities: {
        orchestration: ['uniform'],
        regions: [],
        excludeFromLatest: false,
        deletionGuard: false,
        protect: false,
        reimage: false,
        upgrade: false,
        galleryDigest: false,
        snapshots: false,
        runCommand: false,
        fencing: false,
      },
    });
    return {
      ...under,
      async close() {
        await under.close();
        await rm(folder, { recursive: true });
      },
    };
  },
  {
    lacks: {
      flexible: nowhere,
      regions: nowhere,
      excludeFromLatest: nowhere,
      deletionGuard: nowhere,
      protect: nowhere,
      reimage: nowhere,
      upgrade: nowhere,
      galleryDigest: nowhere,
      snapshots: nowhere,
      runCommand: nowhere,
      fencing: nowhere,
    },
    size: 'small',
    nodes: 2,
  },
);

describeProvider(
  'sim with flexible pools only',
  () => makeSim({ abilities: { orchestration: ['flexible'], reimage: false, upgrade: false } }),
  {
    lacks: {
      uniform: 'the simulation plays flexible scale sets',
      reimage: 'nodes of flexible scale sets are replaced',
      upgrade: 'nodes of flexible scale sets are replaced',
    },
    size: 'small',
    nodes: 2,
  },
);
