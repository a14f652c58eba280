import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type VersionState, versionStates } from '../image/version-state.ts';
import { type ChannelMove, type ChannelRecord, channelTakes, checkMove } from './channel.ts';
import { earlierVersions, returnedFrom, stateFromMoves } from './log.ts';

const empty: ChannelRecord = {
  image: 'node',
  name: 'production',
  forTesting: false,
  managed: false,
  position: 2,
  public: false,
};

function move(
  id: number,
  to: string | undefined,
  at = `2026-01-01T00:00:${String(id).padStart(2, '0')}Z`,
): ChannelMove {
  const target = to === undefined ? {} : { to, toDigest: `digest of ${to}` };
  return { id, image: 'node', channel: 'production', ...target, by: 'ada', why: 'release', at };
}

function log(...targets: (string | undefined)[]): ChannelMove[] {
  return targets.map((to, index) => move(index + 1, to));
}

describe('where a channel points', () => {
  test('is told by the last move in the log', () => {
    expect(stateFromMoves([])).toBeUndefined();
    expect(stateFromMoves(log('1.0.0', '1.0.1'))).toEqual({
      version: '1.0.1',
      digest: 'digest of 1.0.1',
      move: 2,
      movedAt: '2026-01-01T00:00:02Z',
    });
    expect(stateFromMoves(log('1.0.0', undefined))).toBeUndefined();
  });
});

const number = fc.nat(4).map((patch) => `1.0.${patch}`);
const attempt = fc.record({
  to: number,
  state: fc.constantFrom(...versionStates),
  expect: fc.option(fc.option(number), { nil: undefined }),
  at: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
});

interface Attempt {
  readonly to: string;
  readonly state: VersionState;
  readonly expect: string | null | undefined;
  readonly at: Date;
}

/** Plays attempts against the rules as a catalogue would; gives the channel and its log. */
function play(channel: ChannelRecord, attempts: readonly Attempt[]) {
  const moves: ChannelMove[] = [];
  let now = channel;
  for (const { to, state, expect: believed, at } of attempts) {
    let goes = false;
    try {
      const check = believed === undefined ? {} : { expect: believed };
      goes = checkMove(now, { image: 'node', version: to, state }, check);
    } catch {
      continue;
    }
    if (!goes) continue;
    const made = move(moves.length + 1, to, at.toISOString());
    moves.push(made);
    now = { ...now, version: to, digest: made.toDigest ?? '', move: made.id, movedAt: made.at };
    expect(channelTakes(channel, state)).toBe(true);
  }
  return { now, moves };
}

describe('over any sequence of moves, refused ones between, under any clock', () => {
  const history = fc.array(attempt, { maxLength: 30 });

  test('the state rebuilt from the log equals the state', () => {
    fc.assert(
      fc.property(history, fc.boolean(), (attempts, forTesting) => {
        const { now, moves } = play({ ...empty, forTesting }, attempts);
        const { version, digest, move: id, movedAt } = now;
        const state = stateFromMoves(moves);
        expect(state).toEqual(version === undefined ? undefined : { version, digest, move: id, movedAt });
        expect(stateFromMoves(moves.toReversed())).toEqual(state);
      }),
    );
  });

  test('two neighbours in the log never name the same version', () => {
    fc.assert(
      fc.property(history, (attempts) => {
        const { moves } = play(empty, attempts);
        for (const [index, { to }] of moves.entries()) expect(moves[index + 1]?.to).not.toBe(to);
      }),
    );
  });

  test('going back again and again visits each earlier version once, and ends', () => {
    fc.assert(
      fc.property(history, (attempts) => {
        const { now, moves } = play({ ...empty, forTesting: true }, attempts);
        const visited = now.version === undefined ? [] : [now.version];
        for (;;) {
          const [target] = earlierVersions(moves);
          if (target === undefined) break;
          expect(visited).not.toContain(target);
          visited.push(target);
          moves.push(move(moves.length + 1, target));
        }
        expect(visited.length).toBeLessThanOrEqual(5);
      }),
    );
  });
});

describe('what a channel can go back to', () => {
  test('is what it pointed at before, nearest first', () => {
    expect(earlierVersions(log('1.0.0', '1.0.1', '1.0.2'))).toEqual(['1.0.1', '1.0.0']);
    expect(earlierVersions(log('1.0.0'))).toEqual([]);
    expect(earlierVersions([])).toEqual([]);
  });

  test('going back twice does not lead forward again', () => {
    expect(earlierVersions(log('1.0.0', '1.0.1', '1.0.2', '1.0.1'))).toEqual(['1.0.0']);
  });

  test('after a new move forward the whole way back is there', () => {
    expect(earlierVersions(log('1.0.0', '1.0.1', '1.0.0', '1.0.2'))).toEqual(['1.0.0']);
  });

  test('a channel that was emptied can go back to its last version', () => {
    expect(earlierVersions(log('1.0.0', '1.0.1', undefined))).toEqual(['1.0.1', '1.0.0']);
  });
});

describe('returnedFrom', () => {
  const moves = (...targets: string[]) =>
    log(...targets).map((one, index) => ({ ...one, ...(index === 0 ? {} : { from: targets[index - 1] }) }));

  test('is true only if the last move went from the version to an earlier one', () => {
    expect(returnedFrom(moves('1.0.0', '1.0.1', '1.0.0'), '1.0.1')).toBe(true);
    expect(returnedFrom(moves('1.0.0', '1.0.1', '1.0.0'), '1.0.0')).toBe(false);
    expect(returnedFrom(moves('1.0.0', '1.0.1'), '1.0.0')).toBe(false);
    expect(returnedFrom(moves('1.0.0', '1.0.1', '1.0.0', '1.0.2'), '1.0.1')).toBe(false);
    expect(returnedFrom([], '1.0.0')).toBe(false);
  });
});
