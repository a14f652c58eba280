import { describe, expect, test } from 'vitest';
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

describe('without a name', () => {
  const images = [
    { name: 'node', os: 'linux', architecture: 'x64' },
    { name: 'node-arm', os: 'linux', architecture: 'arm64' },
    { name: 'node-win', os: 'windows', architecture: 'x64' },
  ] as const;
  const regions = ['westeurope'];
  const deps = {
    catalogue: {
      listImages: async () => ({ items: images }),
      getImage: async (name: string) => images.find((image) => image.name === name),
      listForKubernetes: async (image: string, kubernetes: string) =>
        ['1.36.1', '1.36.2'].map((version) => ({
          ...{ image, version, digest: `${image} ${version}`, state: 'available', createdAt: '2026-01-01' },
          kubernetes: kubernetes === '1.36' ? version : kubernetes,
        })),
    },
    providers: [
      {
        abilities: { regions },
        name: 'azure',
        gallery: {
          async getVersion(_: string, version: string) {
            return {
              state: 'ready',
              regions: version === '1.36.1' ? [{ region: 'westeurope', state: 'ready' }] : [],
            };
          },
        },
      },
    ],
    ...{ options: { signal: AbortSignal.timeout(60_000), epoch: 0 }, now: Date.now },
  } as unknown as ResolveDeps;

  test('the image is chosen that the size can start, with the reason', async () => {
    const size = 'Standard_D2ps_v5';
    const found = await resolveImage(deps, { kubernetes: '1.36', os: 'linux', size });
    expect(found).toMatchObject({ image: 'node-arm', version: '1.36.2', kubernetes: '1.36.2' });
    expect(found.why).toContainEqual(expect.stringContaining('is arm64'));
    expect(found.why).toContainEqual(expect.stringMatching(/^Left out: node: .*the image is x64/));
  });

  test('the next best version is chosen where the region lacks the best', async () => {
    const asked = { kubernetes: '1.36', os: 'linux', arch: 'x64', region: 'westeurope' } as const;
    expect(await resolveImage(deps, asked)).toMatchObject({ image: 'node', version: '1.36.1' });
  });

  test('nothing that fits is said with what was left out, and a named image that does not fit is refused', async () => {
    const size = 'Standard_D2ps_v5';
    const asked = { kubernetes: '1.36', os: 'windows', size } as const;
    await expect(resolveImage(deps, asked)).rejects.toMatchObject({
      code: 'kubernetes-not-found',
      hint: expect.stringContaining('node-win'),
    });
    await expect(resolveImage(deps, { os: 'linux' })).rejects.toMatchObject({ code: 'input-invalid' });
    await expect(resolveImage(deps, { reference: 'node:1.0.0', size })).rejects.toMatchObject({
      code: 'input-invalid',
      message: expect.stringContaining('is arm64'),
    });
  });
});

describe('a clock that was wrong', () => {
  const moved = (...times: readonly string[]) =>
    times.map((at, index) => ({ id: index + 1, at })).toReversed();
  const now = Date.parse('2026-03-10T00:00:00Z');

  async function warningOf(times: readonly string[], move: number, at: string): Promise<string | undefined> {
    const version = { version: '1.0.0', state: 'available' } as VersionRecord;
    const deps = {
      catalogue: {
        resolveAt: async () => ({
          image: 'node',
          channel: 'production',
          state: 'available',
          version: '1.0.0',
          move,
        }),
        getVersion: async () => version,
        listMoves: async () => ({ items: moved(...times) }),
      },
      now: () => now,
    } as unknown as ResolveDeps;
    return (await resolveImage(deps, { reference: 'node:production', at })).warning;
  }

  test('no warning if times are in the order of the moves', async () => {
    const times = ['2026-03-01T00:00:00Z', '2026-03-03T00:00:00Z', '2026-03-05T00:00:00Z'];
    expect(await warningOf(times, 2, '2026-03-04')).toBeUndefined();
  });

  test('a move that was recorded in the future is named', async () => {
    const times = ['2026-03-01T00:00:00Z', '2031-01-01T00:00:00Z'];
    expect(await warningOf(times, 1, '2026-03-04')).toContain(
      'move 2 of node:production was recorded at 2031',
    );
  });

  test('so is one that was recorded later than the move that follows it', async () => {
    const times = ['2026-03-01T00:00:00Z', '2026-03-08T00:00:00Z', '2026-03-03T00:00:00Z'];
    expect(await warningOf(times, 3, '2026-03-04')).toContain('move 2 of node:production');
  });
});
