// When each node of a rollout has its turn: for the plan before it starts, and for its status while it runs.
import type * as z from 'zod';
import type { PlannedWave } from './plan.ts';
import type { nodeTurn } from './record.ts';
import type { NodeInWave } from './wave.ts';
import { nextOpening, type Window } from './window.ts';

export type NodeTurn = z.output<typeof nodeTurn>;

/** The time that a node takes, as long as none of the rollout has moved. */
const usualMoveMs = 5 * 60_000;

export interface Course {
  readonly waves: readonly PlannedWave[];
  /** The last operation that moved each node. */
  readonly moves: ReadonlyMap<string, NonNullable<NodeInWave['move']>>;
  readonly maxUnavailable: number;
  readonly bakeMs: number;
  readonly windows: readonly Window[];
  readonly now: number;
  /** A rollout that is paused, or has ended, gives no times. */
  readonly isMoving: boolean;
}

/** Returns the nodes in their order. Times assume that each takes as long as those before it took on average. */
export function turnsOf(course: Course): readonly NodeTurn[] {
  const { waves, moves, maxUnavailable, bakeMs, windows, now, isMoving } = course;
  const moveMs = averageMs(moves);
  const turns: NodeTurn[] = [];
  let at = now;
  for (const wave of waves) {
    let started = 0;
    for (const name of wave.nodes) {
      const move = moves.get(name);
      const state = stateOf(move);
      if (state === 'waiting' && isMoving) {
        if (started % maxUnavailable === 0) at = nextOpening(windows, at) + moveMs;
        started += 1;
      }
      const expected =
        state === 'waiting' ? at : state === 'moving' ? (move?.since ?? now) + moveMs : undefined;
      turns.push({
        ...{ name, wave: wave.name, state },
        ...(move?.sentence !== undefined && { sentence: move.sentence }),
        ...(isMoving && expected !== undefined && { expectedAt: iso(Math.max(now, expected)) }),
      });
    }
    if (started > 0) at += bakeMs;
  }
  return turns;
}

function averageMs(moves: Course['moves']): number {
  const taken = [...moves.values()].flatMap(({ state, since, endedAt }) =>
    state === 'succeeded' && endedAt !== undefined ? [endedAt - since] : [],
  );
  return taken.length === 0 ? usualMoveMs : taken.reduce((sum, one) => sum + one, 0) / taken.length;
}

function stateOf(move: NodeInWave['move']): NodeTurn['state'] {
  if (move === undefined) return 'waiting';
  if (move.state === 'live') return 'moving';
  if (move.state === 'succeeded') return 'moved';
  return move.blocked === true ? 'waiting' : 'failed';
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
