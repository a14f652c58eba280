import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';
import { fallbackCopiesStep, fallenChannels } from './copies.ts';

const bad = { image: 'node', version: '1.1.0' };

/** Each gallery is the only one of a provider of its name. */
function world(names: readonly string[]) {
  const copies = new Map<string, object>();
  const broken = new Set<string>();
  const providers = names.map((name) => ({
    ...{ name, abilities: { regions: [], excludeFromLatest: true, simulated: false } },
    clock: { now: () => 0, sleep: async () => {} },
    gallery: {
      limits: async () => [],
      getImage: async () => undefined,
      createImage: async () => undefined,
      getVersion: async () => copies.get(name),
      async createVersion(spec: object) {
        if (broken.has(name)) throw new ImagoError('provider-failed', 'No space.');
        copies.set(name, { ...spec, state: 'ready', regions: [], diskDigest: 'disk of 1.0.0' });
      },
      deleteVersion: async () => void copies.delete(name),
    },
  }));
  const channel = { image: 'node', managed: false, forTesting: false, position: 1, public: false };
  const deps = {
    catalogue: {
      listChannels: async () => [
        { ...channel, name: 'staging', version: '1.2.0', move: 1 },
        { ...channel, name: 'production', version: '1.0.0', move: 2 },
        { ...channel, name: 'latest', managed: true, version: '1.2.0', move: 3 },
        { ...channel, name: 'empty' },
      ],
      getMove: async (id: number) => ({ id, from: id === 1 ? '1.0.0' : bad.version }),
      getChannel: async () => channel,
      getImage: async () => ({ name: 'node', os: 'linux', architecture: 'x64' }),
      getVersion: async (image: string, version: string) => ({
        ...{ image, version, digest: `digest of ${version}`, diskDigest: `disk of ${version}` },
        origin: { kind: 'imported', from: 'disk.raw' },
      }),
    },
    galleryBook: {
      list: async () =>
        names.map((name) => ({ name, provider: name, channels: ['production'], regions: [], public: false })),
    },
    provider: (name: string) => providers.find((one) => one.name === name),
    ...{ providers: () => providers, epoch: 0 },
  } as unknown as OperationDeps;
  const results = new Map<string, unknown>();
  const { signal } = new AbortController();
  const run = {
    ...{ ...deps, signal, call: { signal, epoch: 0 }, operation: { id: 'op' }, progress() {}, log() {} },
    maybe: (step: string) => results.get(step),
  } as unknown as Run;
  const step = fallbackCopiesStep(() => [bad]);
  return { deps, copies, broken, step, run, results };
}

test('copies only for channels that the withdrawal moved back', async () => {
  const { deps } = world([]);
  expect(await fallenChannels(deps, [bad])).toMatchObject([{ name: 'production', version: '1.0.0' }]);
  expect(await fallenChannels(deps, [])).toEqual([]);
});

test('reports a gallery that fails, copies to the others, and retries only that one', async () => {
  const { copies, broken, step, run } = world(['east', 'west']);
  broken.add('east');
  expect(await step.do(run)).toEqual({
    copied: [{ gallery: 'west', regions: [], compared: 'digest' }],
    failed: ['node:production went back to 1.0.0, which gallery east does not have: No space.'],
  });
  const before = copies.get('west');
  broken.clear();
  expect(await step.do(run)).toMatchObject({ failed: [] });
  expect([...copies.keys()].sort()).toEqual(['east', 'west']);
  expect(copies.get('west')).toBe(before);
});

test('removes a partial copy if it is stopped, and keeps it for a retry after its end', async () => {
  const { copies, step, run, results } = world(['east']);
  const half = { state: 'creating', regions: [], tags: { 'imago-operation': 'op' } };
  results.set('copies', { copied: [], failed: ['east'] });
  copies.set('east', half);
  expect(await step.undo?.(run)).toBe('kept');
  expect(copies.get('east')).toBe(half);
  results.clear();
  expect(await step.undo?.(run)).toBe('kept');
  expect(copies.size).toBe(0);
});

test('reports no gallery if it is stopped', async () => {
  const { broken, step, run } = world(['east']);
  broken.add('east');
  const stopped = { ...run, signal: AbortSignal.abort(new Error('Stopped.')) };
  await expect(step.do(stopped)).rejects.toThrow();
});
