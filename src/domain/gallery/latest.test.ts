import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChannelMove } from '../channel/channel.ts';
import { compareVersions } from '../image/version-number.ts';
import { galleryOffer, isOffering, standsFor } from './latest.ts';

function channel(...targets: readonly string[]) {
  const moves = targets.map(
    (to, id): ChannelMove => ({
      ...{ id, image: 'node', channel: 'production', to, by: 'ann', why: 'test', at: '2026-01-01' },
    }),
  );
  return { version: targets.at(-1) ?? '', moves };
}

describe('what a gallery offers as latest', () => {
  test('is what its channel points at; lower ones that it left stay as they are', () => {
    expect(galleryOffer([channel('1.0.0', '1.1.0')])).toEqual({ offered: ['1.1.0'], leftOut: [] });
  });

  test('is never a higher one that the channel went back from', () => {
    expect(galleryOffer([channel('1.9.0', '1.10.0', '1.9.0')])).toEqual({
      ...{ offered: ['1.9.0'], leftOut: ['1.10.0'] },
    });
  });

  test('is what another of its channels points at, although this one left it', () => {
    const channels = [channel('1.0.0', '2.0.0', '1.0.0'), channel('2.0.0')];
    expect(galleryOffer(channels)).toEqual({ offered: ['1.0.0', '2.0.0'], leftOut: [] });
  });

  test('nothing, while no channel points anywhere', () => {
    expect(galleryOffer([])).toEqual({ offered: [], leftOut: [] });
  });

  test('whatever the moves were: the highest of what was offered and not left out is the highest that a channel points at', () => {
    const number = fc.integer({ min: 0, max: 9 }).map((patch) => `1.0.${patch}`);
    const log = fc.array(number, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(log, { minLength: 1, maxLength: 3 }), (logs) => {
        const flags = new Map<string, boolean>();
        const longest = Math.max(...logs.map(({ length }) => length));
        for (let time = 1; time <= longest; time += 1) {
          const { offered, leftOut } = galleryOffer(
            logs.map((targets) => channel(...targets.slice(0, time))),
          );
          for (const version of offered) flags.set(version, true);
          for (const version of leftOut) flags.set(version, false);
        }
        const offers = [...flags].filter(([, offered]) => offered).map(([version]) => version);
        const pointed = logs.map((targets) => targets.at(-1) ?? '');
        expect(offers.toSorted(compareVersions).at(-1)).toBe(pointed.toSorted(compareVersions).at(-1));
      }),
    );
  });
});

test('a gallery stands for the channels that it names, and for their lines', () => {
  const gallery = { channels: ['production'] };
  expect(
    ['production', 'production-1-34', 'staging', 'production-old'].map((name) => standsFor(gallery, name)),
  ).toEqual([true, true, false, false]);
  expect(standsFor({ channels: ['production-1-34'] }, 'production-1-34')).toBe(true);
  expect(standsFor({ channels: ['production-1-34'] }, 'production')).toBe(false);
});

test('channels for testing are not offered, and neither is the one that moves by itself', () => {
  const names = [
    { name: 'staging', forTesting: true },
    { name: 'production', forTesting: false },
    { name: 'latest', forTesting: false },
  ];
  expect(names.filter(isOffering).map(({ name }) => name)).toEqual(['production']);
});
