// Determines what a rollout moves a pool to and where it would return to, and plans its waves.
import type * as z from 'zod';
import type { DrainSettings } from '../../domain/drain/fields.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import { poolImage } from '../../domain/pool/pool.ts';
import type { PoolImage } from '../../domain/pool/record.ts';
import type { rollout } from '../../domain/rollout/operations.ts';
import { countOf, parseBudget, parseShare, planWaves, type WavePlan } from '../../domain/rollout/plan.ts';
import { refuseSkew } from '../../domain/rollout/skew.ts';
import type { WaveRules } from '../../domain/rollout/wave.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { OperationDeps } from '../common/deps.ts';
import { resolveUsable } from '../image/resolve-step.ts';
import { openPool, type PoolReading } from '../node/pool-nodes.ts';
import { resolveModel } from '../pool/prototype.ts';
import { type SeenPool, seePool } from './observe.ts';
import { requireProbes } from './probes.ts';

export type RolloutInput = z.output<typeof rollout.input>;

/** What is needed to plan a rollout, for the operation and for the route of the plan. */
export type RolloutReading = PoolReading &
  Pick<OperationDeps, 'catalogue' | 'clusterOf' | 'prober' | 'promotion'> & { readonly input: RolloutInput };

export interface RolloutPlan extends WavePlan {
  /** What new nodes were created from before the rollout. */
  readonly before: PoolImage;
  /** The last good version. */
  readonly from: PoolImage;
  readonly to: PoolImage;
  readonly maxUnavailable: number;
  /** Nodes that exist in addition while others are replaced. */
  readonly extraNodes: number;
  readonly maxFailed: number;
  readonly budgets: NonNullable<WaveRules['budgets']>;
  /** Versions of nodes that are withdrawn, as NAME:VERSION. */
  readonly withdrawn: readonly string[];
}

/** Throws `rollout-refused` if the version was rolled back in this pool before, and `version-withdrawn`. */
export async function planRollout(run: RolloutReading): Promise<RolloutPlan> {
  const { name, undo, now, retryBad } = run.input;
  const access = await openPool(run, name);
  const { pool } = access;
  const before = imageOf(pool);
  const to = await findTarget(run, pool);
  if (!retryBad && !undo) await refuseBadVersion(run, name, to);
  if (!undo) await checkSkew(run, pool, to);
  await requireProbes(run, run.input.probes, pool);
  const seen = await seePool(access);
  const from = before.digest === to.digest ? await lastGood(run, pool, seen) : before;
  const versions = await readVersions(run, to, seen);
  const isCurrent = await currentNodes(run, to, versions);
  const nodes = [...seen.nodes.values()].map((node) => ({
    name: node.name,
    current: isCurrent(node) && !seen.broken.has(node.name),
  }));
  const shares = waveShares(run.input);
  const total = nodes.length;
  const limit = countOf(parseShare(run.input.maxUnavailable), total);
  // Providers that replace a node by another one do so one at a time.
  const one = pool.orchestration !== 'uniform' || access.provider.abilities.upgrade !== true;
  return {
    ...planWaves(name, nodes, shares),
    ...{ before, from, to },
    maxUnavailable: one ? 1 : now ? Math.max(1, total) : limit,
    extraNodes: one ? 1 : 0,
    maxFailed: run.input.maxFailed === '0' ? 0 : countOf(parseShare(run.input.maxFailed), total),
    budgets: one ? {} : budgetsOf(run.input, total),
    withdrawn: [...versions].flatMap(([name, { state }]) => (state === 'withdrawn' ? [name] : [])),
  };
}

/** A version that was rolled back in a pool returns there only by a person's decision. Throws `rollout-refused`. */
export async function refuseBadVersion(
  { fleet }: Pick<OperationDeps, 'fleet'>,
  pool: string,
  { image, version, digest }: Pick<PoolImage, 'image' | 'version' | 'digest'>,
): Promise<void> {
  const bad = await fleet.findBadVersion(pool, digest);
  if (bad === undefined) return;
  throw new ImagoError(
    'rollout-refused',
    `${image}:${version} was rolled back in pool ${pool} at ${bad.at}: ${bad.reason ?? 'no reason given'}.`,
  );
}

async function checkSkew(run: RolloutReading, pool: PoolRecord, to: PoolImage): Promise<void> {
  const cluster = await run.clusterOf(pool);
  if (cluster === undefined) return;
  const version = await run.catalogue.getVersion(to.image, to.version);
  refuseSkew(`${to.image}:${to.version}`, version?.kubernetes, await cluster.version(run.call));
}

/** In an outage there is no room for the pods of all nodes: with `now`, nodes are not drained. */
export function drainOf(input: RolloutInput): DrainSettings {
  const { drainTimeout, force, deleteEmptydirData, noDrain, now } = input;
  return { drainTimeout, force, deleteEmptydirData, noDrain: noDrain || now };
}

/** With `now`, everything is in the wave after the canaries, which do not wait either. */
export function waveShares({ waves, now }: Pick<RolloutInput, 'waves' | 'now'>) {
  return now ? [] : waves.map(parseShare);
}

export function isAt(
  node: { readonly image: string; readonly version: string },
  { image, version }: Pick<PoolImage, 'image' | 'version'>,
): boolean {
  return node.image === image && node.version === version;
}

function nameOf({ image, version }: { readonly image: string; readonly version: string }): string {
  return `${image}:${version}`;
}

function budgetsOf({ budgets }: Pick<RolloutInput, 'budgets'>, total: number): RolloutPlan['budgets'] {
  return Object.fromEntries(
    budgets.map(parseBudget).map(({ why, share }) => [why, Math.max(1, countOf(share, total))]),
  );
}

type Versions = ReadonlyMap<string, VersionRecord>;

/** The versions of the nodes and the target, by NAME:VERSION. */
async function readVersions(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  to: PoolImage,
  { nodes }: SeenPool,
): Promise<Versions> {
  const found = new Map<string, VersionRecord>();
  for (const one of new Map([to, ...nodes.values()].map((named) => [nameOf(named), named])).values()) {
    const known = await catalogue.getVersion(one.image, one.version);
    if (known !== undefined) found.set(nameOf(one), known);
  }
  return found;
}

/**
 * A node is current if its disk was created from the target's content, or if the target was captured from it: then its
 * packages and files are those of the target, although it was created from an older version.
 */
async function currentNodes(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  to: PoolImage,
  versions: Versions,
): Promise<(node: ProviderNode) => boolean> {
  const target = versions.get(nameOf(to));
  const isDonor =
    target?.origin.kind === 'captured' ? donorOf(await catalogue.listEvidence(to.digest)) : undefined;
  return (node) => {
    const made = versions.get(nameOf(node));
    return (
      isAt(node, to) ||
      (made !== undefined && made.diskDigest === target?.diskDigest) ||
      isDonor?.(node) === true
    );
  };
}

/** Its disk must still be the one that was captured. */
function donorOf(evidence: readonly Evidence[]): ((node: ProviderNode) => boolean) | undefined {
  const captured = evidence.findLast(({ kind }) => kind === 'capture');
  const { machineId, imagedAt } = Object(captured?.details) as Partial<ProviderNode>;
  if (machineId === undefined) return undefined;
  return (node) => node.machineId === machineId && node.imagedAt === imagedAt;
}

export async function findTarget(run: RolloutReading, pool: PoolRecord): Promise<PoolImage> {
  return run.input.undo ? undoTarget(run, pool.name) : startTarget(run, pool);
}

async function startTarget(run: RolloutReading, pool: PoolRecord): Promise<PoolImage> {
  const { reference } = run.input;
  if (reference === undefined) {
    await resolveUsable(run, `${pool.image}@${pool.digest}`);
    return imageOf(pool);
  }
  return poolImage(await resolveModel(run, pool, { reference, pin: false }), { pin: false });
}

async function undoTarget(run: RolloutReading, name: string): Promise<PoolImage> {
  const last = await run.fleet.lastRollout(name);
  if (last !== undefined) return last.from;
  throw new ImagoError('rollout-not-found', `Pool ${name} has had no rollout.`);
}

/** The version that most other nodes run; the model itself if there is none. */
async function lastGood(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  pool: PoolRecord,
  { nodes }: SeenPool,
): Promise<PoolImage> {
  const others = [...nodes.values()].filter((node) => !isAt(node, pool));
  const counted = [...Map.groupBy(others, ({ image, version }) => `${image}:${version}`).values()];
  for (const [first] of counted.sort((a, b) => b.length - a.length)) {
    const known = first && (await catalogue.getVersion(first.image, first.version));
    if (known === undefined) continue;
    const { move: _move, base: _base, ...image } = imageOf(pool);
    return { ...image, image: known.image, version: known.version, digest: known.digest };
  }
  return imageOf(pool);
}

function imageOf({ reference, follows, image, version, digest, move, base }: PoolRecord): PoolImage {
  return {
    ...{ reference, image, version, digest },
    ...(follows !== undefined && { follows }),
    ...(move !== undefined && { move }),
    ...(base !== undefined && { base }),
  };
}
