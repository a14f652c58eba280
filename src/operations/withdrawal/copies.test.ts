import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import type { OperationDeps } from '../common/deps.ts';
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
  const context = {
    ...{ signal: new AbortController().signal, operation: { id: 'op' }, progress() {}, log() {} },
    result: (step: string) => results.get(step),
  } as unknown as StepContext<unknown>;
  const step = fallbackCopiesStep(deps, () => [bad]);
  return { deps, copies, broken, step, context, results };
}

test('only channels that the withdrawal took back are looked after', async () => {
  const { deps } = world([]);
  expect(await fallenChannels(deps, [bad])).toMatchObject([{ name: 'production', version: '1.0.0' }]);
  expect(await fallenChannels(deps, [])).toEqual([]);
});

test('a gallery that fails is named and keeps no other from its copy; again only that one is copied to', async () => {
  const { copies, broken, step, context } = world(['east', 'west']);
  broken.add('east');
  expect(await step.do(context)).toEqual({
    copied: [{ gallery: 'west', regions: [], compared: 'digest' }],
    failed: ['node:production went back to 1.0.0, which gallery east does not have: No space.'],
  });
  const before = copies.get('west');
  broken.clear();
  expect(await step.do(context)).toMatchObject({ failed: [] });
  expect([...copies.keys()].sort()).toEqual(['east', 'west']);
  expect(copies.get('west')).toBe(before);
});

test('stopped in between, what is half-made goes; after its end, what is there stays for a retry', async () => {
  const { copies, step, context, results } = world(['east']);
  const half = { state: 'creating', regions: [], tags: { 'imago-operation': 'op' } };
  results.set('copies', { copied: [], failed: ['east'] });
  copies.set('east', half);
  expect(await step.undo?.(context)).toBe('kept');
  expect(copies.get('east')).toBe(half);
  results.clear();
  expect(await step.undo?.(context)).toBe('kept');
  expect(copies.size).toBe(0);
});

test('one that is stopped names no gallery for it', async () => {
  const { broken, step, context } = world(['east']);
  broken.add('east');
  const stopped = { ...context, signal: AbortSignal.abort(new Error('Stopped.')) };
  await expect(step.do(stopped)).rejects.toThrow();
});
