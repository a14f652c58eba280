import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { Run } from '../common/operation.ts';
import { excludeFromLatest } from './sync-latest.ts';

interface FakeGallery {
  readonly has: boolean;
  readonly silent?: boolean;
  excluded?: boolean;
}

function provider(name: string, galleries: Readonly<Record<string, FakeGallery>> | undefined): Provider {
  const silent = new ImagoError('provider-failed', 'No answer.');
  const open = (place: string) => {
    const gallery = galleries?.[place] ?? { has: false };
    return {
      async getVersion() {
        if (gallery.silent) throw silent;
        if (!gallery.has) return undefined;
        return { state: 'ready', excludeFromLatest: gallery.excluded ?? false, regions: [] };
      },
      async updateVersion() {
        gallery.excluded = true;
      },
    };
  };
  return {
    ...{ name, abilities: { excludeFromLatest: true }, clock: { now: () => 0, sleep: async () => {} } },
    galleries: {
      async listGalleries() {
        if (galleries === undefined) throw silent;
        return { items: Object.keys(galleries).map((place) => ({ name: place })) };
      },
      open,
    },
  } as unknown as Provider;
}

const version = { image: 'node', version: '1.0.0' };

function tell(providers: readonly Provider[], signal = new AbortController().signal) {
  const run = { providers: () => providers, call: { signal, epoch: 0 }, progress() {} } as unknown as Run;
  return excludeFromLatest(run, [version]);
}

test('a gallery or a provider that does not answer is named, and keeps no other from hearing', async () => {
  const [before, after, other] = [{ has: true }, { has: true }, { has: true }] as FakeGallery[];
  const galleries = { before, dead: { has: true, silent: true }, without: { has: false }, after };
  const result = await tell([
    provider('lost', undefined),
    provider('sim', galleries as Record<string, FakeGallery>),
    provider('far', { other } as Record<string, FakeGallery>),
  ]);
  expect(result.told).toEqual([
    ...['sim/before: node:1.0.0', 'sim/after: node:1.0.0', 'far/other: node:1.0.0'],
  ]);
  expect(result.failed).toEqual([
    'lost does not list its galleries: No answer.',
    'gallery sim/dead does not leave it out: No answer.',
  ]);
  expect([before, after, other]).toMatchObject([{ excluded: true }, { excluded: true }, { excluded: true }]);
});

test('an aborted run does not continue with the next gallery', async () => {
  const after: FakeGallery = { has: true };
  const stopped = AbortSignal.abort(new ImagoError('provider-failed', 'Stopped.'));
  await expect(
    tell([provider('sim', { dead: { has: true, silent: true }, after })], stopped),
  ).rejects.toThrow('Stopped.');
  expect(after.excluded).toBeUndefined();
});
