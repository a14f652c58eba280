import { describe, expect, test } from 'vitest';
import { type VersionState, versionStates } from '../image/version-state.ts';
import { type ChannelRecord, channelTakes, checkMove, usualChannels } from './channel.ts';

const production: ChannelRecord = {
  image: 'node',
  name: 'production',
  forTesting: false,
  managed: false,
  position: 2,
  public: false,
};
const staging: ChannelRecord = { ...production, name: 'staging', forTesting: true };
const latest: ChannelRecord = { ...production, name: 'latest', managed: true };

function version(state: VersionState, number = '1.0.0') {
  return { image: 'node', version: number, state };
}

describe('rule 4: nothing untested is reachable from a channel that is not for testing', () => {
  test.each<[ChannelRecord, VersionState, string | undefined]>([
    [staging, 'candidate', undefined],
    [staging, 'available', undefined],
    [staging, 'deprecated', 'version-state'],
    [staging, 'withdrawn', 'version-withdrawn'],
    [staging, 'deleted', 'version-state'],
    [production, 'candidate', 'channel-untested'],
    [production, 'available', undefined],
    [production, 'deprecated', 'version-state'],
    [production, 'withdrawn', 'version-withdrawn'],
    [production, 'deleted', 'version-state'],
  ])('$name takes a version that is %s: %s', (channel, state, code) => {
    expect(channelTakes(channel, state)).toBe(code === undefined);
    if (code === undefined) expect(checkMove(channel, version(state))).toBe(true);
    else
      expect(() => checkMove(channel, version(state))).toThrow(
        expect.objectContaining({ code, exitCode: 4 }),
      );
  });

  test('and no expectation of the caller gets around it', () => {
    expect(() => checkMove(production, version('candidate'), { expect: null })).toThrow(
      expect.objectContaining({ code: 'channel-untested' }),
    );
  });
});

test('latest cannot be set, to nothing at all', () => {
  for (const state of versionStates) {
    expect(() => checkMove(latest, version(state))).toThrow(
      expect.objectContaining({ code: 'channel-managed' }),
    );
  }
});

test('a version of another image is refused', () => {
  expect(() => checkMove(production, { ...version('available'), image: 'other' })).toThrow(
    expect.objectContaining({ code: 'input-invalid' }),
  );
});

describe('two who move at once', () => {
  const at1 = { ...production, version: '1.0.0' };

  test('the second is told where the channel points by now', () => {
    expect(() => checkMove(at1, version('available', '2.0.0'), { expect: null })).toThrow(
      expect.objectContaining({ code: 'channel-moved', message: expect.stringContaining('points at 1.0.0') }),
    );
    expect(() => checkMove(at1, version('available', '2.0.0'), { expect: '0.9.0' })).toThrow(
      expect.objectContaining({ code: 'channel-moved' }),
    );
  });

  test('one who expects rightly, or nothing, moves', () => {
    expect(checkMove(at1, version('available', '2.0.0'), { expect: '1.0.0' })).toBe(true);
    expect(checkMove(at1, version('available', '2.0.0'))).toBe(true);
  });

  test('one whose reply was lost may repeat the move', () => {
    expect(checkMove(at1, version('available', '1.0.0'), { expect: '0.9.0' })).toBe(false);
  });

  test('a repeated move does not hide that the version was withdrawn meanwhile', () => {
    expect(() => checkMove(at1, version('withdrawn', '1.0.0'))).toThrow(
      expect.objectContaining({ code: 'version-withdrawn' }),
    );
  });
});

test('a new image has one channel for testing, one for use and one that is managed', () => {
  expect(usualChannels.map(({ name }) => name)).toEqual(['staging', 'production', 'latest']);
  expect(usualChannels.filter(({ forTesting }) => forTesting).map(({ name }) => name)).toEqual(['staging']);
  expect(usualChannels.filter(({ managed }) => managed).map(({ name }) => name)).toEqual(['latest']);
});
