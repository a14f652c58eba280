// Chooses the node that is captured. Every rule is evaluated for every node, with its value, so that an explanation
// shows why each node is or is not a candidate.
import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { formatDuration } from '../value/duration.ts';
import { listOf, record } from '../value/fields.ts';
import { parseTime } from '../value/time.ts';

export interface DonorNode {
  readonly name: string;
  readonly pool: string;
  readonly zone?: string | undefined;
  /** The version that the node was created from. */
  readonly model: string;
  /** How many captures that version descends from. */
  readonly generation: number;
  readonly isReady: boolean;
  /** Time of the last change of readiness. */
  readonly readyChangedAt?: string | undefined;
  readonly heartbeatAt?: string | undefined;
  readonly isSchedulable: boolean;
  readonly isControlPlane: boolean;
  /** The operation that works on the node. */
  readonly operation?: string | undefined;
  /** Whether its disk can be copied: one that is on the host of its machine cannot. */
  readonly hasDisk: boolean;
  /** Whether another user protects it from scale-in or from actions on the pool. */
  readonly isProtected: boolean;
  readonly isOptedOut: boolean;
  readonly isRebootPending: boolean;
  /** Time of the last change of packages, from the agent or from an annotation. */
  readonly patchedAt?: string | undefined;
  /** Adverse conditions and failed units. */
  readonly problems: readonly string[];
  readonly pods: number;
}

export interface DonorRequest {
  readonly pool: string;
  /** The version that the pool follows, and the prototypes of it, as NAME:VERSION. */
  readonly models: readonly string[];
  readonly now: Date;
  /** Creation time of the newest capture, or of the version that the pool follows. */
  readonly lastVersionAt?: string | undefined;
  readonly minReadyMs?: number;
  readonly maxHeartbeatAgeMs?: number;
  /** Fewer candidates than this are too few to choose from. */
  readonly minCandidates?: number;
  /** With a last version older than this, nodes without newer patches are candidates if there are too few others. */
  readonly maxVersionAgeMs?: number;
  /** Considers nodes without newer patches in any case. */
  readonly waivePatch?: boolean;
  /** The share of the other nodes of the pool that must be ready. */
  readonly minReadyPeers?: number;
  /** The only node to consider, if a user named one. All rules apply to it. */
  readonly node?: string;
}

export const donorRules = [
  'pool',
  'model',
  'generation',
  'worker',
  'opted-in',
  'idle',
  'disk',
  'unprotected',
  'schedulable',
  'heartbeat',
  'ready',
  'healthy',
  'rebooted',
  'patched',
  'not-last-in-pool',
  'not-last-in-zone',
  'healthy-peers',
] as const;
export type DonorRule = (typeof donorRules)[number];

const ruleResult = z.object({ rule: z.enum(donorRules), value: z.string(), isMet: z.boolean() });
export type RuleResult = z.output<typeof ruleResult>;

const donorScore = z.object({
  total: z.number().describe('Sum of the parts, at most 100.'),
  ready: z.number().describe('Up to 50: one point for each 3 h 22 min of being ready, at most 7 days.'),
  patched: z.number().describe('Up to 30: the share of the last 7 days since the patch that is left.'),
  pods: z.number().describe('Up to 20: fewer pods to move; none from 100 pods on.'),
});
export type DonorScore = z.output<typeof donorScore>;

const donorCandidate = z.object({
  name: z.string(),
  rules: listOf(ruleResult),
  isCandidate: z.boolean(),
  score: donorScore.optional(),
});
export type DonorCandidate = z.output<typeof donorCandidate>;

export const donorChoice = record('DonorChoice', 'Why each node of a pool can or cannot be captured.', {
  nodes: listOf(donorCandidate).describe(
    'Candidates by score, then the others; equals by the longer ready time, then by name.',
  ),
  donor: z.string().optional().describe('Node that a capture would use. Absent if no node can be captured.'),
  refusal: z.string().optional().describe('Why there is no donor.'),
  isPatchWaived: z.boolean().describe('The rule `patched` was waived.'),
});
export type DonorChoice = z.output<typeof donorChoice>;

/** A line of captures ends here: build the image again from its recipe. */
const maxGenerations = 10;
const minute = 60_000;
const day = 24 * 60 * minute;
const week = 7 * day;

interface Facts {
  readonly request: DonorRequest;
  readonly peers: readonly DonorNode[];
}

/** The same input gives the same choice, in any order of nodes. */
export function chooseDonor(nodes: readonly DonorNode[], request: DonorRequest): DonorChoice {
  const { minCandidates = 1, node: named } = request;
  const considered = nodes.filter(({ name }) => named === undefined || name === named);
  const peers = nodes.filter(({ pool }) => pool === request.pool);
  const strict = considered.map((node) => evaluate(node, { request, peers }, false));
  const isPatchWaived =
    request.waivePatch === true || (countCandidates(strict) < minCandidates && isVersionTooOld(request));
  const results = isPatchWaived ? considered.map((node) => evaluate(node, { request, peers }, true)) : strict;
  const sorted = results.toSorted(compare).map(({ readyMs, ...candidate }) => candidate);
  const count = countCandidates(results);
  const refusal = refuse(count, minCandidates, named);
  const donor = sorted[0]?.name;
  return {
    nodes: sorted,
    ...(refusal === undefined && donor !== undefined && { donor }),
    ...(refusal !== undefined && { refusal }),
    isPatchWaived,
  };
}

function refuse(count: number, minCandidates: number, named: string | undefined): string | undefined {
  if (named !== undefined) return count === 0 ? `Node ${named} is not a candidate.` : undefined;
  if (count === 0) return 'No node is a candidate.';
  if (count < minCandidates)
    return `There are ${count} candidates, and at least ${minCandidates} are required.`;
  return undefined;
}

function countCandidates(results: readonly DonorCandidate[]): number {
  return results.filter(({ isCandidate }) => isCandidate).length;
}

function isVersionTooOld({ lastVersionAt, maxVersionAgeMs, now }: DonorRequest): boolean {
  if (maxVersionAgeMs === undefined || lastVersionAt === undefined) return false;
  return now.getTime() - parseTime(lastVersionAt).getTime() > maxVersionAgeMs;
}

type Evaluated = DonorCandidate & { readonly readyMs: number };

function evaluate(node: DonorNode, facts: Facts, isPatchWaived: boolean): Evaluated {
  const readyMs = readyTime(node, facts.request);
  const rules = donorRules.map((rule): RuleResult => ({ rule, ...evaluations[rule](node, facts) }));
  const isCandidate = rules.every(({ rule, isMet }) => isMet || (rule === 'patched' && isPatchWaived));
  return {
    name: node.name,
    rules,
    isCandidate,
    ...(isCandidate && { score: scoreOf(node, facts.request, readyMs) }),
    readyMs,
  };
}

function compare(a: Evaluated, b: Evaluated): number {
  const byScore = (b.score?.total ?? -1) - (a.score?.total ?? -1);
  if (byScore !== 0) return byScore;
  const byReady = b.readyMs - a.readyMs;
  if (byReady !== 0) return byReady;
  return a.name < b.name ? -1 : 1;
}

function scoreOf(node: DonorNode, { now }: DonorRequest, readyMs: number): DonorScore {
  const patched = timeOf(node.patchedAt);
  const sincePatch = patched === undefined ? week : Math.max(0, now.getTime() - patched);
  const ready = Math.round((Math.min(readyMs, week) / week) * 50);
  const fresh = Math.round((1 - Math.min(sincePatch, week) / week) * 30);
  const pods = Math.round((1 - Math.min(node.pods, 100) / 100) * 20);
  return { total: ready + fresh + pods, ready, patched: fresh, pods };
}

/** 0 for a node that is not ready, and for a clock that runs behind that of the node. */
function readyTime({ isReady, readyChangedAt }: DonorNode, { now }: DonorRequest): number {
  const since = timeOf(readyChangedAt);
  return isReady && since !== undefined ? Math.max(0, now.getTime() - since) : 0;
}

/** `undefined` also for text that is not a time: annotations are written by anyone. */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseTime(text).getTime();
  } catch (error) {
    if (error instanceof ImagoError) return undefined;
    throw error;
  }
}

type Evaluation = (node: DonorNode, facts: Facts) => Pick<RuleResult, 'value' | 'isMet'>;

const evaluations: Readonly<Record<DonorRule, Evaluation>> = {
  pool: ({ pool }, { request }) => ({ value: pool, isMet: pool === request.pool }),
  model: ({ model }, { request }) => ({ value: model, isMet: request.models.includes(model) }),
  generation: ({ generation }) => ({
    value: `${generation} captures since it was built`,
    isMet: generation < maxGenerations,
  }),
  worker: ({ isControlPlane }) => ({
    value: isControlPlane ? 'control plane' : 'worker',
    isMet: !isControlPlane,
  }),
  'opted-in': ({ isOptedOut }) => ({ value: isOptedOut ? 'opted out' : 'yes', isMet: !isOptedOut }),
  idle: ({ operation }) => ({ value: operation ?? 'no operation', isMet: operation === undefined }),
  disk: ({ hasDisk }) => ({ value: hasDisk ? 'can be copied' : 'ephemeral', isMet: hasDisk }),
  unprotected: ({ isProtected }) => ({
    value: isProtected ? 'protected by another user' : 'not protected',
    isMet: !isProtected,
  }),
  schedulable: ({ isSchedulable }) => ({ value: isSchedulable ? 'yes' : 'cordoned', isMet: isSchedulable }),
  heartbeat({ heartbeatAt }, { request }) {
    const last = timeOf(heartbeatAt);
    if (last === undefined) return { value: heartbeatAt ?? 'none', isMet: false };
    const age = Math.max(0, request.now.getTime() - last);
    return { value: `${formatDuration(age)} ago`, isMet: age <= (request.maxHeartbeatAgeMs ?? 5 * minute) };
  },
  ready(node, { request }) {
    if (!node.isReady) return { value: 'not ready', isMet: false };
    if (timeOf(node.readyChangedAt) === undefined) {
      return { value: node.readyChangedAt ?? 'for an unknown time', isMet: false };
    }
    const readyMs = readyTime(node, request);
    return { value: `for ${formatDuration(readyMs)}`, isMet: readyMs >= (request.minReadyMs ?? day) };
  },
  healthy: ({ problems }) => ({
    value: problems.length === 0 ? 'no problems' : problems.join(', '),
    isMet: problems.length === 0,
  }),
  rebooted: ({ isRebootPending }) => ({
    value: isRebootPending ? 'reboot pending' : 'no reboot pending',
    isMet: !isRebootPending,
  }),
  patched({ patchedAt }, { request: { lastVersionAt } }) {
    const patched = timeOf(patchedAt);
    if (patched === undefined) return { value: patchedAt ?? 'never', isMet: false };
    const isNewer = lastVersionAt === undefined || patched > parseTime(lastVersionAt).getTime();
    return { value: new Date(patched).toISOString(), isMet: isNewer };
  },
  'not-last-in-pool': (node, { peers }) => otherReady(node, peers),
  'not-last-in-zone': (node, { peers }) =>
    node.zone === undefined
      ? { value: 'no zone', isMet: true }
      : otherReady(
          node,
          peers.filter(({ zone }) => zone === node.zone),
        ),
  'healthy-peers'(node, { request, peers }) {
    const others = peers.filter(({ name }) => name !== node.name);
    const ready = others.filter(({ isReady }) => isReady).length;
    const need = (request.minReadyPeers ?? 0.8) * others.length;
    return { value: `${ready} of ${others.length} ready`, isMet: ready >= need };
  },
};

function otherReady(node: DonorNode, peers: readonly DonorNode[]): Pick<RuleResult, 'value' | 'isMet'> {
  const ready = peers.filter(({ name, isReady }) => isReady && name !== node.name).length;
  return { value: `${ready} others ready`, isMet: ready > 0 };
}
