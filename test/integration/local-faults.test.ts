// Faults wrap any provider: the local one is struck like the simulated one, and goes on afterwards.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFaults, type SimFaults } from '../../src/cloud/faults/faults.ts';
import { withFaults } from '../../src/cloud/faults/faulty-provider.ts';
import { openCloudState } from '../../src/cloud/state/schema.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import type { CallOptions } from '../../src/ports/provider/call.ts';
import type { LocalProvider } from '../../src/providers/local/provider.ts';
import { createFakeMachineHost } from '../support/fake-machine-host.ts';
import { createLocalBench, type LocalBench } from '../support/local-bench.ts';
import { until } from '../support/until.ts';

const options: CallOptions = { signal: new AbortController().signal, epoch: 1 };
const image = { name: 'node', os: 'linux', architecture: 'x64', generation: 2 } as const;

let bench: LocalBench;
let provider: LocalProvider;
let faults: SimFaults;

beforeEach(async () => {
  bench = await createLocalBench();
  const world = openCloudState(undefined, { name: 'The faults', unusable: 'sim-world-unusable' });
  faults = createFaults(world);
  provider = withFaults(await bench.open(createFakeMachineHost()), {
    ...{ world, clock: systemClock, ceilings: {}, die: () => undefined },
  });
});

afterEach(async () => {
  await provider.close();
  await bench.end();
});

it('fails a call without doing it, and another after doing it', async () => {
  faults.add({ kind: 'fails', call: 'gallery.createImage' });
  faults.add({ kind: 'reply-lost', call: 'gallery.createImage', name: 'node', after: 1 });
  const create = () => provider.gallery.createImage(image, options);
  await expect(create()).rejects.toMatchObject({ code: 'provider-failed' });
  expect(await provider.gallery.getImage('node', options)).toBeUndefined();
  await expect(create()).rejects.toMatchObject({ code: 'provider-no-reply' });
  expect(await provider.gallery.getImage('node', options)).toMatchObject(image);
});

it('fails the work that a call starts, which succeeds when it is tried again', async () => {
  const disk = await bench.sealDisk('one');
  const source = { kind: 'disk', digest: disk.diskDigest } as const;
  const spec = { image: 'node', version: '1.0.0', source, regions: [], excludeFromLatest: false, tags: {} };
  const settled = () =>
    until('the version is no longer being created', async () => {
      const version = await provider.gallery.getVersion('node', '1.0.0', options);
      return version?.state !== 'creating' && version;
    });
  await provider.gallery.createImage(image, options);
  faults.add({ kind: 'fails-later', call: 'gallery.createVersion', message: 'the disk is broken' });
  await provider.gallery.createVersion(spec, options);
  expect(await settled()).toMatchObject({ state: 'failed', error: { message: 'the disk is broken.' } });
  await provider.gallery.createVersion(spec, options);
  expect(await settled()).toMatchObject({ state: 'ready', diskDigest: disk.diskDigest });
});
