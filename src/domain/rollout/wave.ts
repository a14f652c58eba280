// Decides what a wave of a rollout does next, from what is observed alone: a daemon that restarts, or one that takes
// over, decides the same.
import { formatDuration } from '../value/duration.ts';

/** `return` is the way back from a version that failed. */
export const moveReasons = ['broken', 'withdrawn', 'return'] as const;
export type MoveReason = (typeof moveReasons)[number];

/** One node of the wave, and the operation that moves it. */
export interface NodeInWave {
  readonly name: string;
  /** `gone`: another user deleted it, or it was replaced by a node with another name. */
  readonly at: 'before' | 'target' | 'gone';
  /** Why it moves, if not only because it is behind: the reason can have a budget of its own. */
  readonly why?: MoveReason | undefined;
  readonly move?: {
    readonly state: 'live' | 'succeeded' | 'failed';
    readonly attempt: number;
    /** Milliseconds since 1970. */
    readonly since: number;
    readonly endedAt?: number;
    /** What it does now, or why it failed. */
    readonly sentence?: string;
    /** Whether the failure says nothing about the version: a budget, a conflict, an API server that is away. */
    readonly blocked?: boolean;
  };
}

export interface WaveObservation {
  readonly name: string;
  readonly nodes: readonly NodeInWave[];
  /** Nodes of the pool that do not serve now, by name, without those that are stopped on purpose. */
  readonly unavailable: ReadonlySet<string>;
  /** Nodes that run the target and are not healthy, with the reason. */
  readonly unhealthy: ReadonlyMap<string, string>;
  /** Moved nodes on which a probe does not hold yet, with the reason. */
  readonly probing?: ReadonlyMap<string, string>;
  readonly now: number;
  readonly paused: boolean;
  /** The next time at which nodes can start to move. */
  readonly opensAt: number;
}

export interface WaveRules {
  readonly maxUnavailable: number;
  /** Other limits than `maxUnavailable`, by the reason of a move. */
  readonly budgets?: Readonly<Partial<Record<MoveReason, number>>>;
  /** Nodes that can fail before the rollout goes back. Canaries never can. */
  readonly maxFailed: number;
  /** How long the nodes must stay healthy after the last one moved. */
  readonly bakeMs: number;
  /** Tries nodes again that failed because of the version, as on the way back. */
  readonly retriesFailed?: boolean;
}

export type WaveDecision =
  | {
      readonly action: 'move';
      readonly nodes: readonly { readonly name: string; readonly attempt: number }[];
    }
  | { readonly action: 'wait'; readonly untilMs: number; readonly sentence: string }
  | { readonly action: 'done'; readonly failed: readonly string[] }
  | { readonly action: 'breach'; readonly reason: string };

const maxAttempts = 5;
const firstPauseMs = 30_000;
const maxPauseMs = 30 * 60_000;
const roomMs = 2000;

/** A second attempt on a blocked node waits 30 s, the next ones twice as long each, up to 30 minutes. */
function backOffMs(attempt: number): number {
  return Math.min(maxPauseMs, firstPauseMs * 2 ** (attempt - 1));
}

export function decideWave(seen: WaveObservation, rules: WaveRules): WaveDecision {
  const breach = findBreach(seen, rules);
  if (breach !== undefined) return { action: 'breach', reason: breach };
  const live = seen.nodes.filter(({ move }) => move?.state === 'live');
  const left = seen.nodes.filter((node) => isLeft(node, rules));
  if (live.length === 0 && left.length === 0) return finish(seen, rules);
  if (seen.paused) return waitFor(seen, live, 'it is paused');
  if (seen.opensAt > seen.now && left.length > 0) {
    return waitFor(seen, live, `its window opens at ${new Date(seen.opensAt).toISOString()}`, seen.opensAt);
  }
  const nodes = startable(seen, live, left, rules);
  if (nodes.length > 0) return { action: 'move', nodes };
  return waitFor(seen, live, undefined, nextTry(seen, left, rules));
}

/** A node that moved back and forth too often is left as it is and reported, and so is one that failed. */
function isLeft({ at, move }: NodeInWave, { retriesFailed = false }: WaveRules): boolean {
  if (at === 'gone' || move?.state === 'live') return false;
  if (move === undefined) return at === 'before';
  if (move.state === 'succeeded') return at === 'before' && move.attempt < maxAttempts;
  return move.blocked === true || (retriesFailed && at === 'before' && move.attempt < maxAttempts);
}

function findBreach(seen: WaveObservation, { maxFailed }: WaveRules): string | undefined {
  const failed = new Map(seen.unhealthy);
  for (const { name, move } of seen.nodes) {
    if (move?.state === 'failed' && move.blocked !== true) failed.set(name, move.sentence ?? 'it failed');
  }
  const all = [...failed].map(([name, reason]) => `node ${name}: ${reason}`);
  const limit = seen.name === 'canaries' ? 0 : maxFailed;
  if (all.length <= limit) return undefined;
  const more = all.length > 3 ? ` and ${all.length - 3} more` : '';
  return `${all.slice(0, 3).join('; ')}${more}`;
}

/** A node that does not serve costs nothing to move; one that serves needs room below the limit. */
function startable(
  seen: WaveObservation,
  live: readonly NodeInWave[],
  left: readonly NodeInWave[],
  rules: WaveRules,
) {
  const down = new Set([...seen.unavailable, ...live.map(({ name }) => name)]);
  const nodes: { name: string; attempt: number }[] = [];
  const resumesAt = poolRetryAt(seen.nodes, rules);
  for (const node of left) {
    const limit = limitFor(node, rules);
    if (live.length + nodes.length >= limit) continue;
    if (Math.max(resumesAt, retryAt(node)) > seen.now) continue;
    if (!down.has(node.name) && down.size >= limit) continue;
    down.add(node.name);
    nodes.push({ name: node.name, attempt: (node.move?.attempt ?? 0) + 1 });
  }
  return nodes;
}

function limitFor({ why }: NodeInWave, { maxUnavailable, budgets = {} }: WaveRules): number {
  return (why === undefined ? undefined : budgets[why]) ?? maxUnavailable;
}

function retryAt({ move }: NodeInWave): number {
  return move?.endedAt === undefined ? 0 : move.endedAt + backOffMs(move.attempt);
}

/** What blocks one round of nodes after the other blocks the pool: the next round waits as the next try of a node. */
function poolRetryAt(nodes: readonly NodeInWave[], { maxUnavailable }: WaveRules): number {
  const isBlocked = ({ move }: NodeInWave) => move?.state === 'failed' && move.blocked === true;
  const endOf = ({ move }: NodeInWave) => move?.endedAt ?? 0;
  const lastGood = Math.max(0, ...nodes.filter((node) => !isBlocked(node)).map(endOf));
  const ends = nodes.filter((node) => isBlocked(node) && endOf(node) > lastGood).map(endOf);
  const rounds = Math.ceil(ends.length / maxUnavailable);
  return rounds < 2 ? 0 : Math.max(...ends) + backOffMs(rounds - 1);
}

/** Nodes that wait for room, and not for their next try, are looked at again soon, but not at once. */
function nextTry(seen: WaveObservation, left: readonly NodeInWave[], rules: WaveRules): number {
  const resumesAt = poolRetryAt(seen.nodes, rules);
  const tries = left.map((node) => Math.max(resumesAt, retryAt(node)));
  return Math.min(...tries.map((at) => (at > seen.now ? at : seen.now + roomMs)));
}

function finish(seen: WaveObservation, { bakeMs }: WaveRules): WaveDecision {
  const moved = seen.nodes.flatMap(({ move }) => (move?.endedAt === undefined ? [] : [move.endedAt]));
  const bakedAt = moved.length === 0 ? seen.now : Math.max(...moved) + bakeMs;
  const [first, ...others] = seen.probing ?? [];
  if (first !== undefined) {
    const also = others.length === 0 ? '' : ` and ${others.length} more nodes`;
    return waiting(Number.POSITIVE_INFINITY, `${seen.name} waits: node ${first[0]}${also}: ${first[1]}`);
  }
  if (bakedAt <= seen.now) {
    const failed = seen.nodes.filter(({ at, move }) => at === 'before' || move?.state === 'failed');
    return { action: 'done', failed: failed.map(({ name }) => name) };
  }
  const left = bakedAt - seen.now;
  return waiting(left, `${seen.name} is moved and is observed for another ${formatDuration(left)}`);
}

function waiting(untilMs: number, sentence: string): WaveDecision {
  return { action: 'wait', untilMs, sentence };
}

/** Names the blocker: the node that takes longest, and what it does. */
function waitFor(
  { name, nodes, now, unavailable }: WaveObservation,
  live: readonly NodeInWave[],
  reason: string | undefined,
  until = Number.POSITIVE_INFINITY,
): WaveDecision {
  const untilMs = Math.max(0, until - now);
  const slow = [...live].sort((a, b) => (a.move?.since ?? 0) - (b.move?.since ?? 0))[0];
  const blocked = nodes.find(({ move }) => move?.state === 'failed' && move.blocked === true);
  if (reason !== undefined && slow === undefined) return waiting(untilMs, `${name} waits: ${reason}`);
  if (slow?.move !== undefined) {
    const { since, sentence = 'it is being replaced' } = slow.move;
    const also = reason === undefined ? '' : `; ${reason}`;
    return waiting(
      untilMs,
      `${name}: node ${slow.name} for ${formatDuration(now - since)}: ${sentence}${also}`,
    );
  }
  if (blocked?.move !== undefined) {
    const { sentence = 'it is blocked' } = blocked.move;
    const again = Number.isFinite(untilMs) ? `; next try in ${formatDuration(untilMs)}` : '';
    return waiting(untilMs, `${name} waits: node ${blocked.name}: ${sentence}${again}`);
  }
  const down = [...unavailable].slice(0, 3).join(', ');
  return waiting(untilMs, `${name} waits: too many nodes are not ready: ${down}`);
}
