// Reconciles periodically: pools that follow a channel, the records of nodes that others created, and machines that an
// ended operation left behind (rule 2).
import { build } from '../../domain/build/operations.ts';
import { operationRequest } from '../../domain/operation/declaration.ts';
import { poolSetImage } from '../../domain/pool/operations.ts';
import type { FoundProblem } from '../../domain/problem/problem.ts';
import type { Json } from '../../domain/value/json.ts';
import { withdraw } from '../../domain/withdrawal/operations.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { Snapshot } from '../../ports/provider/disks.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationRecord } from '../../ports/workflow/operation.ts';
import { cacheTag } from '../build/guest-jobs.ts';
import { allPages } from '../common/all-pages.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { keptForMs } from '../image-test/operations.ts';
import { openPool, recordPoolNodes } from '../node/pool-nodes.ts';
import { refuseBadVersion } from '../rollout/target.ts';
import { replacementId } from '../withdrawal/replace.ts';
import { createGuard, throwIfFailed } from './guard.ts';
import { restoreNodes } from './restore-nodes.ts';

export interface ReconcileDeps extends OperationDeps {
  readonly now: () => number;
}

export interface ReconcileReport {
  /** Operations that were started so that pools follow their channels. */
  readonly followed: readonly string[];
  readonly removedMachines: readonly string[];
  /** Nodes that an ended operation had left cordoned or stopped. */
  readonly restoredNodes: readonly string[];
  /** What could not be checked or repaired. */
  readonly problems: readonly FoundProblem[];
}

const by = 'imago';
/** Limits of the disks that builds on machines continue from. */
const cacheCount = 16;
const cacheMs = 7 * 24 * 3_600_000;
/** How often a pool that could not follow is retried. */
const followAgainMs = 10 * 60_000;

/** One pass. A failure of one check does not prevent the others. */
export async function reconcile(deps: ReconcileDeps, signal: AbortSignal): Promise<ReconcileReport> {
  const followed: string[] = [];
  const removedMachines: string[] = [];
  const { problems, guard } = createGuard(signal);
  const call = callOptions(deps, signal);
  for await (const pool of allPages((query) => deps.fleet.listBehind(query))) {
    await guard(
      'pool-behind',
      `pool/${pool.name}`,
      `Pool ${pool.name} could not follow its channel`,
      async () => {
        await followChannel(deps, pool, followed);
      },
    );
  }
  const here = new Set(deps.providers().map(({ name }): string => name));
  const elsewhere = new Map<string, number>();
  for await (const pool of allPages((query) => deps.fleet.listPools(query))) {
    if (!here.has(pool.provider)) {
      elsewhere.set(pool.provider, (elsewhere.get(pool.provider) ?? 0) + 1);
      continue;
    }
    await guard(
      'nodes-not-recorded',
      `pool/${pool.name}`,
      `The nodes of pool ${pool.name} could not be recorded`,
      async () => {
        const access = await openPool({ ...deps, call }, pool.name);
        const { strangers, unmarked } = await recordPoolNodes(deps, access, pool);
        if (unmarked !== undefined)
          problems.push({
            kind: 'nodes-not-marked',
            subject: `pool/${pool.name}`,
            message: `Cluster ${pool.cluster} does not show the nodes of pool ${pool.name} as they are: ${unmarked}`,
          });
        const [first] = strangers;
        if (first === undefined) return;
        const others = strangers.length === 1 ? '' : ` and ${strangers.length - 1} others`;
        problems.push({
          kind: 'nodes-unknown-version',
          subject: `pool/${pool.name}`,
          message: `Node ${first}${others} of pool ${pool.name} was created from a version that the catalog does not have.`,
        });
      },
    );
  }
  for (const [provider, pools] of elsewhere) {
    problems.push({
      kind: 'provider-missing',
      subject: `provider/${provider}`,
      message: `There is no provider ${provider} here: the nodes of ${pools} of its pools are not checked.`,
    });
  }
  for (const provider of deps.providers()) {
    await guard(
      'machines-not-checked',
      `provider/${provider.name}`,
      `Machines of provider ${provider.name} could not be checked`,
      async () => {
        removedMachines.push(...(await removeLeftMachines(deps, provider, signal)));
        await removeLeftSnapshots(deps, provider, signal);
        await pruneBuildCache(deps, provider, signal);
      },
    );
  }
  const restoredNodes = await restoreNodes(deps, { guard, problems, call });
  return { followed, removedMachines, restoredNodes, problems };
}

/** Starts the change of model if the channel has moved; the id prevents two passes from starting it twice. */
async function followChannel(deps: ReconcileDeps, pool: PoolRecord, followed: string[]): Promise<void> {
  if (pool.follows === undefined) return;
  const { image } = pool.base ?? pool;
  const channel = await deps.catalogue.getChannel(image, pool.follows);
  if (channel?.version === undefined || channel.move === undefined || channel.move === pool.move) return;
  const version = await deps.catalogue.getVersion(image, channel.version);
  if (await isWithdrawalInCharge(deps, pool.name, channel.move)) return;
  if (version !== undefined) await refuseBadVersion(deps, pool.name, version);
  const slot = Math.floor(deps.now() / followAgainMs);
  const idOf = (at: number) => `follow-${pool.name}-${channel.move}-${at}`;
  const id = idOf(slot);
  const current = await deps.journal.get(id);
  if (current === undefined) {
    const request = operationRequest(poolSetImage, {
      name: pool.name,
      reference: pool.reference,
      pin: false,
    });
    await deps.desk().submit({ ...request, id, by });
    followed.push(id);
  }
  throwIfFailed(current, await deps.journal.get(idOf(slot - 1)));
}

/** A withdrawal changes the model of the pools that follow its channels itself. */
async function isWithdrawalInCharge(deps: ReconcileDeps, pool: string, id: number): Promise<boolean> {
  const move = await deps.catalogue.getMove(id);
  const owner = move?.operation === undefined ? undefined : await deps.journal.get(move.operation);
  if (owner?.kind !== withdraw.kind || owner.endedAt !== undefined) return false;
  const child = await deps.journal.get(replacementId(owner.id, pool));
  if (child !== undefined) return child.endedAt === undefined;
  return owner.steps.some(({ name, state }) => name === 'pools' && state !== 'done');
}

/** Deletes copies of disks that a capture could not delete. Snapshots of other users do not have the tag. */
async function removeLeftSnapshots(
  deps: ReconcileDeps,
  { disks, abilities }: Provider,
  signal: AbortSignal,
): Promise<void> {
  if (disks === undefined || !abilities.snapshots) return;
  const options = callOptions(deps, signal);
  for await (const { name, state, tags } of allPages((query) => disks.listSnapshots(query, options))) {
    if (tags.operation === undefined || state === 'deleting') continue;
    const record = await deps.journal.get(tags.operation);
    if (record?.endedAt !== undefined) await disks.deleteSnapshot(name, options);
  }
}

async function removeLeftMachines(
  deps: ReconcileDeps,
  provider: Provider,
  signal: AbortSignal,
): Promise<string[]> {
  const { machines } = provider;
  if (machines === undefined) return [];
  const options = callOptions(deps, signal);
  const removed: string[] = [];
  for await (const machine of allPages((query) => machines.listMachines(query, options))) {
    const operation = machine.tags.operation;
    if (operation === undefined || machine.state === 'deleting') continue;
    const record = await deps.journal.get(operation);
    if (record?.endedAt === undefined) continue;
    if (wasKept(record) && deps.now() < Date.parse(record.endedAt) + keptForMs) continue;
    await machines.deleteMachine(machine.name, options);
    removed.push(machine.name);
  }
  return removed;
}

/** Deletes the disks of build steps that exceed a limit. */
async function pruneBuildCache(deps: ReconcileDeps, { disks }: Provider, signal: AbortSignal): Promise<void> {
  if (disks === undefined) return;
  const options = callOptions(deps, signal);
  const cached: Snapshot[] = [];
  for await (const snapshot of allPages((query) => disks.listSnapshots(query, options)))
    if (snapshot.tags.kind === cacheTag && snapshot.state !== 'deleting') cached.push(snapshot);
  const newest = cached.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  for (const [index, { name, createdAt }] of newest.entries()) {
    const isOld = deps.now() - Date.parse(createdAt) > cacheMs;
    if (index >= cacheCount || isOld) await disks.deleteSnapshot(name, options);
  }
}

/** A failed test or build that keeps its machines for debugging. */
function wasKept({ kind, state, input, steps }: OperationRecord): boolean {
  if (kind === build.kind) return state === 'failed' && isObject(input) && input.keepFailed === true;
  return steps.some(({ name, result }) => name === 'clean' && isObject(result) && result.kept !== undefined);
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
