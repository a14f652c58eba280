// The Azure provider over an emulator that runs in this process, in virtual time.
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningEmulator, serveEmulator } from '../../src/azure-emulator/server.ts';
import { openDisk } from '../../src/oci/disks/open-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SealedDisk } from '../../src/ports/provider/builder.ts';
import { type AzureOptions, type AzureProvider, openAzure } from '../../src/providers/azure/provider.ts';
import { createLocalBench, type LocalBench } from './local-bench.ts';
import { createVirtualClock, type VirtualClock } from './sim/virtual-clock.ts';

export interface AzureBench {
  readonly emulator: RunningEmulator;
  readonly time: VirtualClock;
  /** A wait lets time pass. */
  readonly clock: Clock;
  readonly provider: AzureProvider;
  open(change?: Partial<AzureOptions>): Promise<AzureProvider>;
  sealDisk(text: string): Promise<SealedDisk>;
  end(): Promise<void>;
}

export const subscription = '22222222-2222-2222-2222-222222222222';
const subnet = `/subscriptions/${subscription}/resourceGroups/imago/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes`;
const backgroundMs = 30_000;
const smallestDisk = 20 * 2 ** 20;

/** Time passes when a call waits for Azure, or when a test lets it. Work in the background looks only now and then. */
function benchClock(time: VirtualClock): Clock {
  return {
    now: () => time.now(),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      await (ms < backgroundMs ? time.advance(ms) : time.sleep(ms, signal));
      signal?.throwIfAborted();
    },
  };
}

export async function createAzureBench(always: Partial<AzureOptions> = {}): Promise<AzureBench> {
  const local = await createLocalBench();
  const time = createVirtualClock();
  const clock = benchClock(time);
  const emulator = await serveEmulator({ subscription, anySubscription: false, clock: time });
  const ca = await readFile(emulator.ca, 'utf8');
  const opened: AzureProvider[] = [];
  const disks = new Map<string, SealedDisk>();
  const openProvider = async (change: Partial<AzureOptions> = {}) => {
    const provider = openAzure({
      ...{ subscription, group: 'imago', location: 'westeurope', gallery: 'imago', clock, ca },
      ...{ endpoint: emulator.url, subnet, env: identity, ...always },
      sealedDisks: {
        async open(diskDigest) {
          const disk = [...disks.values()].find((one) => one.diskDigest === diskDigest);
          return disk && openDisk(local.store, parseDigest(disk.digest));
        },
      },
      ...change,
    });
    opened.push(provider);
    return provider;
  };
  return {
    ...{ emulator, time, clock, open: openProvider },
    provider: await openProvider(),
    async sealDisk(text) {
      const disk = disks.get(text) ?? (await sealSparse(local, text));
      disks.set(text, disk);
      return disk;
    },
    async end() {
      for (const provider of opened) await provider.close();
      await emulator.close();
      await local.end();
    },
  };
}

/** Of the size that Azure accepts at least, with data at its start, in its middle and at its end. */
async function sealSparse({ folder, seal }: LocalBench, text: string): Promise<SealedDisk> {
  const path = join(folder, 'sparse.raw');
  const file = await open(path, 'w');
  const bytes = createHash('sha512').update(text).digest();
  for (const at of [0, 9 * 2 ** 20 + 4096, smallestDisk - bytes.length])
    await file.write(bytes, 0, bytes.length, at);
  await file.close();
  return seal(path);
}

/** The emulator accepts every application that brings a secret. */
const identity = {
  AZURE_TENANT_ID: '11111111-1111-1111-1111-111111111111',
  AZURE_CLIENT_ID: 'imago',
  AZURE_CLIENT_SECRET: 'a secret of the test',
};
