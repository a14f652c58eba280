// Plans a rollout: which nodes move, in what order, and in which waves. The order follows from a seed of each node, so
// that a plan can be repeated and two pools do not start with the same nodes.
import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';
import { type MoveReason, moveReasons } from './wave.ts';

/** A limit of its own for moves that have a reason. */
export interface Budget {
  readonly why: MoveReason;
  readonly share: Share;
}

/** Reads `broken=50%`. Throws `input-invalid`. */
export function parseBudget(text: string): Budget {
  const [name, share = '', ...rest] = text.split('=');
  const why = moveReasons.find((known) => known === name);
  if (why !== undefined && rest.length === 0) return { why, share: parseShare(share) };
  throw new ImagoError('input-invalid', `${quote(text)} is not a budget.`, {
    hint: `Write REASON=N or REASON=N%, where REASON is ${moveReasons.join(', ')}.`,
  });
}

/** A number of nodes, or a percentage of the pool. */
export type Share = number | `${number}%`;

export interface PlannedWave {
  readonly name: string;
  readonly nodes: readonly string[];
}

export interface WavePlan {
  readonly waves: readonly PlannedWave[];
  /** Nodes that have the target already. */
  readonly current: readonly string[];
}

/** At least this many nodes move and stay healthy before any other does. */
export const canaryCount = 2;

/** Returns a number for the node that is the same in every plan. FNV-1a, with its bits mixed once more at the end. */
function nodeSeed(pool: string, node: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${pool}/${node}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 15)) >>> 0;
}

export function waveNames(shares: readonly Share[]): readonly string[] {
  return ['canaries', ...shares.map((_, index) => `wave-${index + 1}`), 'rest'];
}

/** `shares` are cumulative: 10%, 50%. What they leave is the last wave. */
export function planWaves(
  pool: string,
  nodes: readonly { readonly name: string; readonly current: boolean }[],
  shares: readonly Share[],
): WavePlan {
  const seeded = nodes
    .filter(({ current }) => !current)
    .map(({ name }) => ({ name, seed: nodeSeed(pool, name) }))
    .sort((a, b) => a.seed - b.seed || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name);
  const ends = [canaryCount, ...shares.map((share) => countOf(share, seeded.length)), seeded.length];
  let start = 0;
  const waves = waveNames(shares).map((name, index) => {
    const end = Math.min(seeded.length, Math.max(start, ends[index] ?? seeded.length));
    const wave = { name, nodes: seeded.slice(start, end) };
    start = end;
    return wave;
  });
  return { waves, current: nodes.filter(({ current }) => current).map(({ name }) => name) };
}

/** Rounds percentages down, but never to none. */
export function countOf(share: Share, total: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.floor((total * Number(share.slice(0, -1))) / 100));
}

/** Reads `3` or `25%`. Throws `input-invalid`. */
export function parseShare(text: string): Share {
  const match = /^([1-9][0-9]{0,5})(%?)$/.exec(text);
  if (match === null || (match[2] === '%' && Number(match[1]) > 100)) {
    throw new ImagoError('input-invalid', `${quote(text)} is not a number of nodes.`, {
      hint: 'Write a number such as 3, or a percentage such as 25%.',
    });
  }
  return match[2] === '%' ? `${Number(match[1])}%` : Number(match[1]);
}
