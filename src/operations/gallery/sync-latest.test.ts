import { describe, expect, test, vi } from 'vitest';
import type { ChannelMove, ChannelRecord } from '../../domain/channel/channel.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { GalleryVersionChange } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';
import { latestUpkeep } from '../reconcile/latest.ts';
import { latestStep, planLatest } from './sync-latest.ts';

interface Copy {
  excluded: boolean;
  readonly regions?: Record<string, boolean | undefined>;
  readonly tag?: string;
  state?: string;
}

const digestOf = (version: string) => `digest of ${version}`;

/** Galleries `a` and `b` that serve production, and channels whose logs are given, newest last. */
function world(logs: Readonly<Record<string, readonly string[]>>, options: { able?: boolean } = {}) {
  const galleries: Record<string, Map<string, Copy>> = { a: new Map(), b: new Map() };
  const silent = new Set<string>();
  const hanging = new Set<string>();
  const calls: string[] = [];
  const moved = Object.fromEntries(Object.entries(logs).map(([name, log]) => [name, [...log]]));
  let onUpdate: (() => void) | undefined;
  const movesOf = (channel: string): ChannelMove[] =>
    (moved[channel] ?? []).map((to, id) => ({
      ...{ id, image: 'node', channel, to, toDigest: digestOf(to), by: 'ann', why: 'test', at: '' },
    }));
  const channels = (): ChannelRecord[] =>
    Object.entries(moved).map(([name, log], position) => ({
      ...{ image: 'node', name, forTesting: name === 'staging', managed: false, position, public: false },
      ...(log.length === 0 ? {} : { version: log.at(-1) ?? '', move: log.length }),
    }));
  const open = (place: string) => {
    const copies = galleries[place];
    function copyOf(version: string): Copy | undefined {
      calls.push(`${place} ${version}`);
      if (silent.has(place)) throw new ImagoError('provider-failed', 'No answer.');
      return copies?.get(version);
    }
    return {
      async getVersion(_image: string, version: string, { signal }: { signal: AbortSignal }) {
        const copy = copyOf(version);
        if (hanging.has(place))
          await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)));
        return (
          copy && {
            ...{ state: copy.state ?? 'ready', excludeFromLatest: copy.excluded },
            tags: { 'imago-digest': copy.tag ?? digestOf(version) },
            regions: Object.entries(copy.regions ?? {}).map(([region, excludeFromLatest]) => ({
              ...{ region, replicas: 1, ...(excludeFromLatest === undefined ? {} : { excludeFromLatest }) },
            })),
          }
        );
      },
      async updateVersion(_image: string, version: string, change: GalleryVersionChange) {
        const copy = copyOf(version);
        if (copy === undefined) throw new Error('There is no such copy.');
        copy.excluded = change.excludeFromLatest ?? copy.excluded;
        for (const { region, excludeFromLatest } of change.regions ?? []) {
          if (copy.regions) copy.regions[region] = excludeFromLatest;
        }
        onUpdate?.();
      },
    };
  };
  const provider = {
    ...{ name: 'sim', abilities: { excludeFromLatest: options.able ?? true } },
    clock: { now: () => 0, sleep: async () => {} },
    galleries: { getGallery: async (name: string) => galleries[name] && { name }, open },
  } as unknown as Provider;
  const book = Object.keys(galleries).map(
    (name) => ({ name, provider: 'sim', place: name, channels: ['production'] }) as unknown as GalleryRecord,
  );
  const deps = {
    catalogue: {
      listImages: async () => ({ items: [{ name: 'node' }] }),
      listChannels: async () => channels(),
      getChannel: async (_image: string, name: string) => channels().find((one) => one.name === name),
      listMoves: async (_image: string, name: string) => ({ items: movesOf(name).reverse() }),
    },
    galleryBook: { list: async () => book },
    ...{ provider: () => provider, providers: () => [provider], epoch: 0 },
  } as unknown as OperationDeps;
  const logged: string[] = [];
  const context = {
    ...{ signal: new AbortController().signal, progress() {}, log: (line: string) => logged.push(line) },
  } as unknown as StepContext<unknown>;
  return {
    ...{ deps, galleries, silent, hanging, calls, book, logged },
    put(place: string, version: string, copy: Copy) {
      galleries[place]?.set(version, copy);
      return copy;
    },
    move: (channel: string, to: string) => void moved[channel]?.push(to),
    onNextUpdate(work: () => void) {
      onUpdate = () => {
        onUpdate = undefined;
        work();
      };
    },
    agree: (channel = 'production') =>
      latestStep(async () => [{ image: 'node', channel }]).do({ ...deps, ...context } as unknown as Run),
  };
}

describe('after a move', () => {
  test('the version is offered in every region, a region’s own flag too, and the one that was left is not', async () => {
    const given = world({ production: ['1.0.0', '1.1.0', '1.0.0'] });
    const now = given.put('a', '1.0.0', { excluded: true, regions: { east: true, west: undefined } });
    const left = given.put('a', '1.1.0', { excluded: false, regions: { east: false } });
    const next = given.put('a', '1.2.0', { excluded: true });
    expect(await given.agree()).toEqual({
      ...{ offered: ['a: node:1.0.0'], leftOut: ['a: node:1.1.0'], failed: [] },
    });
    expect(now).toEqual({ excluded: false, regions: { east: false, west: false } });
    expect(left).toEqual({ excluded: true, regions: { east: true } });
    expect(next).toEqual({ excluded: true });
  });

  test('a gallery that does not answer is named, fails nothing, and keeps no other from hearing', async () => {
    const given = world({ production: ['1.0.0'] });
    given.silent.add('a');
    const copy = given.put('b', '1.0.0', { excluded: true });
    const failed = ['Gallery a did not receive what latest is: No answer.'];
    expect(await given.agree()).toEqual({ offered: ['b: node:1.0.0'], leftOut: [], failed });
    expect(copy.excluded).toBe(false);
    expect(given.logged).toEqual(failed);
  });

  test('one that hangs is given up, and named', async () => {
    vi.useFakeTimers();
    try {
      const given = world({ production: ['1.0.0'] });
      given.hanging.add('a');
      given.put('b', '1.0.0', { excluded: true });
      const agreed = given.agree();
      await vi.advanceTimersByTimeAsync(2 * 60_000);
      expect(await agreed).toEqual({
        ...{ offered: ['b: node:1.0.0'], leftOut: [] },
        failed: ['Gallery a did not receive what latest is: Gallery a did not answer in 120 s.'],
      });
    } finally {
      vi.useRealTimers();
    }
  });

  test('a testing channel is not reported to galleries', async () => {
    const given = world({ staging: ['1.0.0'], production: [] });
    for (const { channels } of given.book) (channels as string[]).push('staging');
    given.put('a', '1.0.0', { excluded: true });
    expect(await given.agree('staging')).toEqual({ offered: [], leftOut: [], failed: [] });
    expect(given.calls).toEqual([]);
  });

  test('a provider without this capability is skipped', async () => {
    const given = world({ production: ['1.0.0'] }, { able: false });
    expect(await given.agree()).toEqual({ offered: [], leftOut: [], failed: [] });
    expect(given.calls).toEqual([]);
  });

  test('something else under the same number is left alone', async () => {
    const given = world({ production: ['1.0.0'] });
    const other = given.put('a', '1.0.0', { excluded: true, tag: 'of others' });
    await given.agree();
    expect(other.excluded).toBe(true);
  });

  test('a version that is withdrawn while it is offered is excluded again, even if its number is lower', async () => {
    const given = world({ production: ['2.0.0', '1.0.0'] });
    const good = given.put('a', '2.0.0', { excluded: true });
    const bad = given.put('a', '1.0.0', { excluded: true });
    given.onNextUpdate(() => given.move('production', '2.0.0'));
    await given.agree();
    expect([good.excluded, bad.excluded]).toEqual([false, true]);
  });

  test('a dry run lists what galleries will offer, and what they will stop offering', async () => {
    const { deps } = world({ production: ['1.0.0', '1.1.0'], staging: ['1.2.0'] });
    const where = { image: 'node', channel: 'production' };
    expect(await planLatest(deps, where, '1.0.0')).toEqual([
      'Then offer 1.0.0 as latest in gallery a, and leave out 1.1.0.',
      'Then offer 1.0.0 as latest in gallery b, and leave out 1.1.0.',
    ]);
    expect(await planLatest(deps, { ...where, channel: 'staging' }, '1.2.0')).toEqual([]);
  });
});

describe('the upkeep', () => {
  const never = new AbortController().signal;

  test('tells a gallery again that did not answer, and asks no more once it is right', async () => {
    const given = world({ production: ['1.0.0'] });
    const copies = ['a', 'b'].map((place) => given.put(place, '1.0.0', { excluded: true }));
    const upkeep = latestUpkeep(given.deps);
    given.silent.add('a');
    expect(await upkeep.round(never)).toMatchObject([{ kind: 'latest-not-synced', subject: 'gallery/a' }]);
    expect(copies.map(({ excluded }) => excluded)).toEqual([true, false]);
    given.silent.clear();
    for (let round = 0; round < 2; round += 1) expect(await upkeep.round(never)).toEqual([]);
    expect(copies.map(({ excluded }) => excluded)).toEqual([false, false]);
    given.calls.length = 0;
    await upkeep.round(never);
    expect(given.calls).toEqual([]);
    given.put('a', '1.1.0', { excluded: true });
    given.move('production', '1.1.0');
    await upkeep.round(never);
    expect(given.calls).toContain('a 1.1.0');
  });

  test('waits for a copy that is still being made, or not there yet', async () => {
    const given = world({ production: ['1.0.0'] });
    const upkeep = latestUpkeep(given.deps);
    expect(await upkeep.round(never)).toEqual([]);
    const copy = given.put('a', '1.0.0', { excluded: true, state: 'creating' });
    expect(await upkeep.round(never)).toEqual([]);
    expect(copy.excluded).toBe(true);
    copy.state = 'ready';
    await upkeep.round(never);
    expect(copy.excluded).toBe(false);
  });
});
