// Decides what a wave of a rollout does next, from what is observed alone: a daemon that restarts, or one that takes
// over, decides the same.
import { formatDuration } from '../value/duration.ts';

/** One node of the wave, and the operation that moves it. */
export interface NodeInWave {
  readonly name: string;
  /** `gone`: another user deleted it, or it was replaced by a node with another name. */
  readonly at: 'before' | 'target' | 'gone';
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
  readonly now: number;
  readonly paused: boolean;
  /** The next time at which nodes can start to move. */
  readonly opensAt: number;
}

export interface WaveRules {
  readonly maxUnavailable: number;
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
  return waitFor(seen, live, undefined, Math.min(...left.map((node) => retryAt(node))));
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
  { maxUnavailable }: WaveRules,
) {
  const down = new Set([...seen.unavailable, ...live.map(({ name }) => name)]);
  const nodes: { name: string; attempt: number }[] = [];
  for (const node of left) {
    if (live.length + nodes.length >= maxUnavailable) break;
    if (retryAt(node) > seen.now) continue;
    if (!down.has(node.name) && down.size >= maxUnavailable) continue;
    down.add(node.name);
    nodes.push({ name: node.name, attempt: (node.move?.attempt ?? 0) + 1 });
  }
  return nodes;
}

function retryAt({ move }: NodeInWave): number {
  return move?.endedAt === undefined ? 0 : move.endedAt + backOffMs(move.attempt);
}

function finish(seen: WaveObservation, { bakeMs }: WaveRules): WaveDecision {
  const moved = seen.nodes.flatMap(({ move }) => (move?.endedAt === undefined ? [] : [move.endedAt]));
  const bakedAt = moved.length === 0 ? seen.now : Math.max(...moved) + bakeMs;
  if (bakedAt <= seen.now) {
    const failed = seen.nodes.filter(({ at, move }) => at === 'before' || move?.state === 'failed');
    return { action: 'done', failed: failed.map(({ name }) => name) };
  }
  const sentence = `${seen.name} is moved and is observed for another ${formatDuration(bakedAt - seen.now)}`;
  return { action: 'wait', untilMs: bakedAt - seen.now, sentence };
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
  if (reason !== undefined && slow === undefined) {
    return { action: 'wait', untilMs, sentence: `${name} waits: ${reason}` };
  }
  const also = reason === undefined ? '' : `; ${reason}`;
  if (slow?.move !== undefined) {
    const { since, sentence } = slow.move;
    const what = sentence ?? 'it is being replaced';
    return {
      action: 'wait',
      untilMs,
      sentence: `${name}: node ${slow.name} for ${formatDuration(now - since)}: ${what}${also}`,
    };
  }
  if (blocked?.move !== undefined) {
    return {
      action: 'wait',
      untilMs,
      sentence: `${name} waits: node ${blocked.name}: ${blocked.move.sentence ?? 'it is blocked'}`,
    };
  }
  const sentence = `${name} waits: too many nodes are not ready: ${[...unavailable].slice(0, 3).join(', ')}`;
  return { action: 'wait', untilMs, sentence };
}
