import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import { canaryCount, parseBudget, planWaves } from './plan.ts';
import { turnsOf } from './turns.ts';
import { decideWave, type NodeInWave } from './wave.ts';
import { nextOpening, parseWindow } from './window.ts';

const counts = fc.integer({ min: 0, max: 60 });
const names = (count: number) => Array.from({ length: count }, (_, at) => `n-${at}`);

describe('the plan', () => {
  test('does not depend on the order of the nodes, and starts with two canaries', () => {
    fc.assert(
      fc.property(counts, fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 4 }), (count, shares) => {
        const nodes = names(count).map((name) => ({ name, current: false }));
        const percent = shares.map((share) => `${share}%` as const);
        const plan = planWaves('web', nodes, percent);
        expect(planWaves('web', nodes.toReversed(), percent)).toEqual(plan);
        expect(plan.waves[0]?.nodes).toHaveLength(Math.min(canaryCount, count));
        expect(plan.waves.flatMap((wave) => wave.nodes).sort()).toEqual(names(count).sort());
      }),
    );
  });

  test('skips nodes that are current', () => {
    const plan = planWaves('web', [{ name: 'a', current: true }], ['10%']);
    expect(plan.waves.every(({ nodes }) => nodes.length === 0)).toBe(true);
    expect(plan.current).toEqual(['a']);
  });
});

type Fate = 'moves' | 'breaks' | 'blocked-once' | 'deleted';

/** Runs a wave to its end, with nodes whose operations end in a random order. */
function simulate(fates: readonly Fate[], maxUnavailable: number, maxFailed: number, pick: () => number) {
  const nodes = new Map<string, NodeInWave>(
    fates.map((_, at): [string, NodeInWave] => [`n-${at}`, { name: `n-${at}`, at: 'before' }]),
  );
  let now = 0;
  let mostLive = 0;
  for (let turn = 0; turn < 10_000; turn += 1) {
    const live = [...nodes.values()].filter(({ move }) => move?.state === 'live');
    mostLive = Math.max(mostLive, live.length);
    const seen = {
      ...{ name: 'wave-1', nodes: [...nodes.values()], unavailable: new Set<string>() },
      ...{ unhealthy: new Map<string, string>(), now, paused: false, opensAt: 0 },
    };
    const decision = decideWave(seen, { maxUnavailable, maxFailed, bakeMs: 1000 });
    if (decision.action === 'done' || decision.action === 'breach') return { decision, mostLive, nodes };
    if (decision.action === 'move') {
      for (const { name, attempt } of decision.nodes) {
        nodes.set(name, { name, at: 'before', move: { state: 'live', attempt, since: now } });
      }
      continue;
    }
    now += 10_000;
    const ending = live[Math.floor(pick() * live.length)];
    if (ending?.move === undefined) continue;
    const { name, move } = ending;
    const fate = fates[Number(name.slice(2))];
    const isBlocked = fate === 'blocked-once' && move.attempt === 1;
    nodes.set(name, {
      name,
      at: fate === 'deleted' ? 'gone' : isBlocked ? 'before' : 'target',
      move: {
        ...move,
        state: fate === 'breaks' || isBlocked ? 'failed' : 'succeeded',
        endedAt: now,
        ...(isBlocked && { blocked: true }),
      },
    });
  }
  throw new Error('The wave does not end.');
}

const fate = fc.constantFrom<Fate>('moves', 'breaks', 'blocked-once', 'deleted');
const chance = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

describe('a wave', () => {
  test('ends, never moves more nodes than allowed, and goes back if too many fail', () => {
    fc.assert(
      fc.property(
        fc.array(fate, { maxLength: 30 }),
        fc.integer({ min: 1, max: 8 }),
        counts,
        chance,
        (fates, max, maxFailed, chances) => {
          const { decision, mostLive, nodes } = simulate(
            fates,
            max,
            maxFailed,
            () => chances.next().value ?? 0,
          );
          expect(mostLive).toBeLessThanOrEqual(max);
          const broken = fates.filter((one) => one === 'breaks').length;
          expect(decision.action).toBe(broken > maxFailed ? 'breach' : 'done');
          if (decision.action === 'done')
            expect([...nodes.values()].every(({ at }) => at !== 'before')).toBe(true);
        },
      ),
    );
  });

  test('takes no node down while others are not ready, but replaces those', () => {
    const seen = {
      ...{ name: 'wave-1', unhealthy: new Map<string, string>(), now: 0, paused: false, opensAt: 0 },
      nodes: [
        { name: 'good', at: 'before' as const },
        { name: 'down', at: 'before' as const },
      ],
      unavailable: new Set(['down']),
    };
    const rules = { maxUnavailable: 1, maxFailed: 0, bakeMs: 0 };
    expect(decideWave(seen, rules)).toEqual({ action: 'move', nodes: [{ name: 'down', attempt: 1 }] });
    expect(decideWave({ ...seen, paused: true }, rules)).toMatchObject({
      sentence: 'wave-1 waits: it is paused',
    });
  });

  test('names the node that blocks it, for how long, and why', () => {
    const sentence = 'budget web/web lets no pod leave';
    const move = { state: 'live', attempt: 1, since: 0, sentence } as const;
    const seen = {
      ...{ name: 'wave-2', unavailable: new Set<string>(), unhealthy: new Map<string, string>() },
      ...{
        nodes: [{ name: 'node-17', at: 'before' as const, move }],
        now: 14 * 60_000,
        paused: false,
        opensAt: 0,
      },
    };
    expect(decideWave(seen, { maxUnavailable: 1, maxFailed: 0, bakeMs: 0 })).toMatchObject({
      sentence: 'wave-2: node node-17 for 14 min: budget web/web lets no pod leave',
    });
  });
});

describe("a node's turn", () => {
  const minute = 60_000;
  const start = Date.parse('2026-11-18T20:00:00Z');
  const course = {
    waves: [
      { name: 'canaries', nodes: ['a', 'b'] },
      { name: 'rest', nodes: ['c', 'd', 'e'] },
    ],
    ...{ moves: new Map(), maxUnavailable: 2, bakeMs: 10 * minute, windows: [], now: start, isMoving: true },
  };
  const times = (turns: ReturnType<typeof turnsOf>) =>
    turns.map(({ name, expectedAt }) => `${name} ${expectedAt?.slice(11, 16)}`);

  test('counts the nodes before it, and the time to observe them', () => {
    expect(times(turnsOf(course))).toEqual(['a 20:05', 'b 20:05', 'c 20:20', 'd 20:20', 'e 20:25']);
  });

  test('follows what nodes take, waits for the window, and is not given while paused', () => {
    const moved = { state: 'succeeded', attempt: 1, since: start - 2 * minute, endedAt: start } as const;
    const moves = new Map<string, NonNullable<NodeInWave['move']>>([
      ['a', moved],
      ['b', { state: 'live', attempt: 1, since: start, sentence: 'draining' } as const],
    ]);
    const turns = turnsOf({ ...course, moves, windows: [parseWindow('21:00-22:00')] });
    expect(times(turns)).toEqual(['a undefined', 'b 20:02', 'c 21:02', 'd 21:02', 'e 21:04']);
    expect(turns[1]).toMatchObject({ state: 'moving', sentence: 'draining', wave: 'canaries' });
    expect(turnsOf({ ...course, isMoving: false }).every(({ expectedAt }) => expectedAt === undefined)).toBe(
      true,
    );
  });
});

describe('a window', () => {
  test('opens in its time zone, also after midnight and across a change to summer time', () => {
    const window = parseWindow('Sat 23:00-03:30 Europe/Paris');
    // Summer time starts on Sunday 2026-03-29 at 2:00.
    expect(nextOpening([window], Date.parse('2026-03-29T01:15:00Z'))).toBe(
      Date.parse('2026-03-29T01:15:00Z'),
    );
    expect(nextOpening([window], Date.parse('2026-03-29T01:30:00Z'))).toBe(
      Date.parse('2026-04-04T21:00:00Z'),
    );
    expect(nextOpening([], 5)).toBe(5);
  });

  test.each(['25:00-26:00', 'Mon 10:00-10:00', 'Foo 10:00-11:00', '10:00-11:00 Mars/Base', ''])(
    '%s is refused',
    (text) => {
      expect(() => parseWindow(text)).toThrow(/not a maintenance window/);
    },
  );
});

/** One node each: what it is, and since when its move has ended, in minutes. */
function seenAt(minutes: number, nodes: readonly NodeInWave[], more: object = {}) {
  return {
    ...{ name: 'wave-1', nodes, unavailable: new Set<string>(), unhealthy: new Map<string, string>() },
    ...{ now: minutes * 60_000, paused: false, opensAt: 0, ...more },
  };
}

const blockedAt = (name: string, minutes: number): NodeInWave => ({
  ...{ name, at: 'before' },
  move: { state: 'failed', blocked: true, attempt: 1, since: 0, endedAt: minutes * 60_000 },
});

describe('budgets by reason', () => {
  const rules = { maxUnavailable: 1, maxFailed: 0, bakeMs: 0, budgets: { withdrawn: 3, broken: 2 } };
  const waiting = (name: string, why?: NodeInWave['why']): NodeInWave => ({ name, at: 'before', why });

  test('let nodes move that have the reason, and leave the limit of others', () => {
    const nodes = [
      waiting('a', 'withdrawn'),
      waiting('b'),
      waiting('c', 'withdrawn'),
      waiting('d', 'withdrawn'),
    ];
    expect(decideWave(seenAt(0, nodes), rules)).toMatchObject({
      nodes: [{ name: 'a' }, { name: 'c' }, { name: 'd' }],
    });
    const others = [waiting('a'), waiting('b'), waiting('c')];
    expect(decideWave(seenAt(0, others), rules)).toMatchObject({ nodes: [{ name: 'a' }] });
  });

  test('are read as they are written, and nothing else is', () => {
    expect(parseBudget('return=50%')).toEqual({ why: 'return', share: '50%' });
    for (const text of ['return', 'sick=1', 'broken=0', 'broken=1=2', 'broken=101%'])
      expect(() => parseBudget(text)).toThrow(ImagoError);
  });
});

describe('the back-off of a pool', () => {
  const rules = { maxUnavailable: 1, maxFailed: 0, bakeMs: 0 };
  const rest: NodeInWave = { name: 'z', at: 'before' };

  test('begins when one node after the other is blocked, and ends with one that moves', () => {
    const once = [blockedAt('a', 10), rest];
    expect(decideWave(seenAt(10, once), rules)).toMatchObject({ action: 'move', nodes: [{ name: 'z' }] });
    const often = [blockedAt('a', 10), blockedAt('b', 10), blockedAt('c', 10), rest];
    expect(decideWave(seenAt(10, often), rules)).toMatchObject({ action: 'wait', untilMs: 60_000 });
    expect(decideWave(seenAt(11, often), rules)).toMatchObject({ action: 'move' });
    const moved: NodeInWave = {
      ...{ name: 'm', at: 'target' },
      move: { state: 'succeeded', attempt: 1, since: 0, endedAt: 11 * 60_000 },
    };
    expect(decideWave(seenAt(11, [...often, moved]), rules)).toMatchObject({ action: 'move' });
  });
});

test.each([
  { what: 'another one moves', move: { state: 'live', attempt: 1, since: 0 } as const, unavailable: [] },
  { what: 'others do not serve', move: undefined, unavailable: ['x'] },
])('nodes that wait for room because $what are not looked at again at once', ({ move, unavailable }) => {
  const nodes: NodeInWave[] = [
    { name: 'a', at: 'before', ...(move && { move }) },
    { name: 'b', at: 'before' },
  ];
  const rules = { maxUnavailable: 1, maxFailed: 0, bakeMs: 0 };
  const decision = decideWave(seenAt(9, nodes, { unavailable: new Set(unavailable) }), rules);
  expect(decision).toMatchObject({ action: 'wait', untilMs: 2000 });
});

test('a wave ends only when its probes hold, and names the node on which one does not', () => {
  const move = { state: 'succeeded', attempt: 1, since: 0, endedAt: 0 } as const;
  const nodes: NodeInWave[] = [{ name: 'a', at: 'target', move }];
  const rules = { maxUnavailable: 1, maxFailed: 0, bakeMs: 60_000 };
  const probing = new Map([['a', 'probe `http http://{address:80}/`: HTTP 503']]);
  expect(decideWave(seenAt(9, nodes, { probing }), rules)).toMatchObject({
    ...{ action: 'wait', sentence: 'wave-1 waits: node a: probe `http http://{address:80}/`: HTTP 503' },
  });
  expect(decideWave(seenAt(9, nodes, { probing: new Map() }), rules)).toMatchObject({ action: 'done' });
});
