import { expect, test } from 'vitest';
import type { VersionState } from '../../domain/image/version-state.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import { type ResolveDeps, resolveImage } from './resolve.ts';

function catalogueOf(states: Readonly<Record<string, VersionState>>) {
  let lists = 0;
  const versions = Object.entries(states).map(
    ([version, state]) =>
      ({
        ...{ image: 'node', version, state, digest: `digest of ${version}`, createdAt: '2026-01-01' },
        ...(state === 'withdrawn' ? { reason: 'kubelet crashes' } : {}),
      }) as VersionRecord,
  );
  const find = (number: string) => versions.find(({ version }) => version === number);
  const deps = {
    catalogue: {
      async resolve(reference: string) {
        const { image, version, digest, state } = find(reference.split(':')[1] ?? '') as VersionRecord;
        return { reference, image, version, digest, state };
      },
      getVersion: async (_image: string, number: string) => find(number),
      async listVersions() {
        lists += 1;
        return { items: versions };
      },
    },
    ...{ providers: [], options: { signal: AbortSignal.timeout(60_000), epoch: 0 }, now: Date.now },
  } as unknown as ResolveDeps;
  return { resolve: (reference: string) => resolveImage(deps, { reference }), lists: () => lists };
}

test('a withdrawn version stays resolvable, and says that it is out, why, and which are near and usable', async () => {
  const { resolve } = catalogueOf({
    ...{ '1.0.0': 'available', '1.1.0': 'withdrawn', '1.2.0': 'withdrawn', '1.3.0': 'deprecated' },
    ...{ '1.4.0': 'deleted', '1.5.0': 'available' },
  });
  expect(await resolve('node:1.2.0')).toEqual({
    ...{ reference: 'node:1.2.0', image: 'node', version: '1.2.0', digest: 'digest of 1.2.0' },
    ...{ state: 'withdrawn', reason: 'kubelet crashes', nearest: ['1.0.0', '1.3.0', '1.5.0'] },
  });
});

test('an image without versions is reported', async () => {
  const { resolve } = catalogueOf({ '1.0.0': 'withdrawn' });
  expect(await resolve('node:1.0.0')).toMatchObject({ state: 'withdrawn', nearest: [] });
});

test('for one that can be used, no list is read', async () => {
  const { resolve, lists } = catalogueOf({ '1.0.0': 'available', '1.1.0': 'withdrawn' });
  expect(await resolve('node:1.0.0')).not.toHaveProperty('nearest');
  expect(lists()).toBe(0);
});
