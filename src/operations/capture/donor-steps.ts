// What a capture does to its donor and undoes: protection, cordon, drain, power, and the copy of the disk. After the
// step `restore` nothing here touches the node again.
import type { CaptureInput } from '../../domain/capture/operations.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameOf } from '../../domain/kube/objects.ts';
import { nodeState } from '../../domain/node/state.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import type { CordonResult, DrainResult } from '../../ports/kube/cluster.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import { requireRole } from '../common/deps.ts';
import type { AnyStep, Looked, Run, StepBody } from '../common/operation.ts';
import { failureReason, openPool, waiting } from '../node/pool-nodes.ts';
import { isReady } from './donors.ts';

/** The donor, with its state before the capture. */
export interface Donor {
  readonly node: string;
  readonly provider: string;
  readonly machineId: string;
  readonly imagedAt: string;
  readonly disk: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  /** The digest of the version that the pool follows, from which the donor descends. */
  readonly base: string;
  readonly protection: ProviderNode['protection'];
  /** The node object in the cluster; absent without a cluster. */
  readonly uid?: string;
}

interface Restored {
  /** From the stop until it was ready again. */
  readonly awayMs: number;
}

export interface DonorResults {
  readonly choose: Donor;
  readonly stop: { readonly stoppedAt: number };
  readonly ready: { readonly readyAt: number };
  readonly restore: Restored;
}

export type DonorRun = Run<CaptureInput, DonorResults>;
type Body<R> = StepBody<CaptureInput, DonorResults, R>;

const powerDeadlineMs = 15 * 60_000;
const snapshotDeadlineMs = 30 * 60_000;
const lookAgainMs = 5_000;
/** An API server that is away for ten minutes does not fail the capture. */
const patientTries = 30;

/** In their order. Without a drain, the cluster of the pool is not used. */
export function donorSteps({ noDrain }: CaptureInput): readonly AnyStep<CaptureInput>[] {
  return [
    { name: 'protect', ...protect },
    ...(noDrain
      ? []
      : [
          { name: 'cordon', ...cordon },
          { name: 'drain', ...drain },
        ]),
    { name: 'stop', ...stop },
    { name: 'snapshot', ...snapshot },
    { name: 'start', ...start },
    {
      name: 'ready',
      patience: (run: DonorRun) => ({ timeoutMs: parseDuration(run.input.readyTimeout) }),
      look: lookAtDonor,
    },
    { name: 'restore', ...restore },
  ];
}

const isReleased = (run: DonorRun) => run.maybe('restore') !== undefined;

const protect: Body<object> = {
  async do(run) {
    const { access, node } = await openDonor(run);
    if (!access.provider.abilities.protect) return {};
    requireSame(run, node);
    await access.pools.protectNode(run.input.name, node.name, ours, run.call);
    return {};
  },
  async verify(run) {
    const { access, node } = await findDonor(run);
    if (!access.provider.abilities.protect) return {};
    return node !== undefined && isOurs(node.protection) ? {} : undefined;
  },
  async undo(run) {
    if (isReleased(run)) return 'kept';
    return unprotect(run);
  },
};

const ours = { fromScaleIn: true, fromPoolActions: true };

function isOurs({ fromScaleIn, fromPoolActions }: ProviderNode['protection']): boolean {
  return fromScaleIn && fromPoolActions;
}

/** Restores the protection, unless another user has changed it since. */
async function unprotect(run: DonorRun): Promise<'kept' | undefined> {
  const { access, node } = await findDonor(run);
  if (node === undefined || !access.provider.abilities.protect) return 'kept';
  if (!isOurs(node.protection)) return undefined;
  await access.pools.protectNode(run.input.name, node.name, run.result('choose').protection, run.call);
  return undefined;
}

const cordon: Body<CordonResult> = {
  tries: patientTries,
  async do(run) {
    const { cluster, name } = await openCluster(run);
    const { uid } = run.result('choose');
    const result = await cluster.cordon(name, run.operation.id, run.call);
    if (result.uid === uid) return result;
    await cluster.uncordon(name, { owner: run.operation.id, uid: result.uid }, run.call);
    throw replaced(run);
  },
  /** A node that is not ready stays cordoned: nothing could run on it, and a person must see it. */
  async undo(run) {
    if (isReleased(run)) return 'kept';
    const { node } = await findDonor(run);
    if (node !== undefined && nodeState(node) !== 'ready')
      throw new ImagoError('provider-failed', `Node ${node.name} is not ready and stays cordoned.`);
    await uncordon(run);
    return undefined;
  },
};

async function uncordon(run: DonorRun): Promise<void> {
  const { cluster, name } = await openCluster(run);
  const { uid = '' } = run.result('choose');
  if ((await cluster.node(name, run.call)) === undefined) return;
  await cluster.uncordon(name, { owner: run.operation.id, uid }, run.call);
}

const drain: Body<DrainResult> = {
  tries: 3,
  timeoutMs: 24 * 3_600_000,
  async do(run) {
    const { cluster, name } = await openCluster(run);
    const result = await cluster.drain(name, {
      ...drainRules(run.input),
      ...run.call,
      timeoutMs: parseDuration(run.input.drainTimeout),
      progress: ({ pod, state, reason }) =>
        run.progress(0, 1, `${pod}: ${state}${reason === undefined ? '' : `, ${reason}`}`),
    });
    requireNone(name, result.arrived);
    return result;
  },
};

export function drainRules({ force, deleteEmptydirData }: CaptureInput) {
  return { ignoreDaemonSets: true, force, deleteEmptyDirData: deleteEmptydirData };
}

/** Pods that tolerate the cordon come back: the drain runs again, and the node is not stopped under them. */
function requireNone(node: string, pods: readonly string[]): void {
  if (pods.length === 0) return;
  throw new ImagoError(
    'drain-failed',
    `Pods arrived on node ${node} after it was drained: ${pods.join(', ')}.`,
    { retryable: true },
  );
}

const stop: Body<DonorResults['stop']> = {
  async do(run) {
    const { access, node } = await openDonor(run);
    requireSame(run, node);
    if (!run.input.noDrain) {
      const { cluster, name } = await openCluster(run);
      const left = await cluster.podsLeft(name, { ...drainRules(run.input), ...run.call });
      requireNone(name, left.map(nameOf));
    }
    const stoppedAt = access.provider.clock.now();
    await access.pools.stopNode(run.input.name, node.name, run.call);
    await settlePower(run, 'stopped');
    return { stoppedAt };
  },
  async undo(run) {
    if (isReleased(run)) return 'kept';
    const { node } = await findDonor(run);
    if (node === undefined) return 'kept';
    await startDonor(run);
    await settle(
      async () => {
        const now = await findDonor(run);
        if (now.node !== undefined && nodeState(now.node) !== 'ready') return undefined;
        return true;
      },
      await patience(run, parseDuration(run.input.readyTimeout)),
    );
    return undefined;
  },
};

const start: Body<object> = {
  async do(run) {
    await startDonor(run);
    return {};
  },
};

async function startDonor(run: DonorRun): Promise<void> {
  const { access, node } = await openDonor(run);
  if (node.power === 'stopping') await settlePower(run, 'stopped');
  await access.pools.startNode(run.input.name, node.name, run.call);
  await settlePower(run, 'running');
}

async function settlePower(run: DonorRun, power: ProviderNode['power']): Promise<void> {
  await settle(
    async () => {
      const { node } = await openDonor(run);
      if (node.state === 'failed')
        throw new ImagoError('provider-failed', `Node ${node.name} failed: ${failureReason(node)}.`);
      return node.power === power ? true : undefined;
    },
    await patience(run, powerDeadlineMs),
  );
}

async function patience(run: DonorRun, deadlineMs: number) {
  const { access } = await findDonor(run);
  return waiting(access, `Node ${run.result('choose').node}`, deadlineMs);
}

/** The name follows from the operation: a copy that an earlier process made of this donor is adopted. */
export function snapshotName(run: Pick<DonorRun, 'operation' | 'sha256'>): string {
  return `capture-${run.sha256(run.operation.id).slice(0, 16)}`;
}

const snapshot: Body<{ readonly name: string; readonly sizeBytes: number }> = {
  async do(run) {
    const { access, node } = await openDonor(run);
    requireStopped(run, node);
    const disks = requireRole(access.provider, 'disks');
    const name = snapshotName(run);
    const tags = { operation: run.operation.id };
    await disks.createSnapshot({ name, disk: run.result('choose').disk, tags }, run.call);
    const made = await settle(
      async () => {
        const found = await disks.getSnapshot(name, run.call);
        return found?.state === 'creating' ? undefined : found;
      },
      await patience(run, snapshotDeadlineMs),
    );
    if (made.state !== 'ready')
      throw new ImagoError(
        'provider-failed',
        `The copy of the disk of node ${node.name} failed: ${made.error?.message ?? made.state}.`,
        { retryable: true },
      );
    // A disk that was written to while it was copied is worth nothing.
    requireStopped(run, (await openDonor(run)).node);
    return { name, sizeBytes: made.sizeBytes };
  },
  undo: (run) => dropSnapshot(run),
};

/** A second call has no effect. */
export async function dropSnapshot(run: DonorRun): Promise<undefined> {
  const { access } = await findDonor(run);
  const disks = requireRole(access.provider, 'disks');
  const name = snapshotName(run);
  await disks.deleteSnapshot(name, run.call);
  await settleGone(() => disks.getSnapshot(name, run.call), await patience(run, snapshotDeadlineMs));
  return undefined;
}

/** One check of whether the donor is ready again, at its provider and in its cluster. */
async function lookAtDonor(run: DonorRun): Promise<Looked<DonorResults['ready']>> {
  const { access, node } = await openDonor(run);
  const state = nodeState(node);
  if (state === 'failed')
    throw new ImagoError('provider-failed', `Node ${node.name} failed: ${failureReason(node)}.`);
  const again = (sentence: string) => ({ againMs: lookAgainMs, sentence });
  if (state !== 'ready') return again(`Node ${node.name} is ${state}`);
  if (!run.input.noDrain) {
    const { cluster, name } = await openCluster(run);
    const object = await cluster.node(name, run.call);
    if (object !== undefined && object.metadata.uid !== run.result('choose').uid) throw replaced(run);
    if (!isReady(object)) return again(`Node ${name} is not ready in the cluster`);
  }
  return { done: { readyAt: access.provider.clock.now() } };
}

const restore: Body<Restored> = {
  tries: patientTries,
  async do(run) {
    if (!run.input.noDrain) await uncordon(run);
    await unprotect(run);
    const { readyAt } = run.result('ready');
    return { awayMs: readyAt - run.result('stop').stoppedAt };
  },
};

async function openCluster(run: DonorRun): Promise<{ cluster: PoolCluster; name: string }> {
  const { pool } = await openPool(run, run.input.name);
  const cluster = await run.clusterOf(pool);
  if (cluster === undefined) throw noCluster(run.input.name);
  return { cluster, name: cluster.nodeName({ name: run.result('choose').node }) };
}

export function noCluster(pool: string): ImagoError {
  return new ImagoError('capture-refused', `Pool ${pool} does not belong to a cluster.`, {
    hint: 'Pass --no-drain: the pods of the node stop without being evicted.',
  });
}

async function findDonor(run: DonorRun) {
  const access = await openPool(run, run.input.name);
  const { node: name, machineId } = run.result('choose');
  const node = await access.pools.getNode(run.input.name, name, run.call);
  const isGone = node === undefined || node.machineId !== machineId || node.state === 'deleting';
  return { access, node: isGone ? undefined : node };
}

/** Throws if the node was deleted, or another machine has its name. */
async function openDonor(run: DonorRun) {
  const { access, node } = await findDonor(run);
  if (node === undefined) throw replaced(run);
  return { access, node };
}

function replaced(run: DonorRun): ImagoError {
  const { node } = run.result('choose');
  return new ImagoError('provider-not-found', `Node ${node} was deleted or replaced during its capture.`, {
    retryable: false,
  });
}

/** The disk must still be the one that was chosen: a node can be reimaged under its name. */
function requireSame(run: DonorRun, node: ProviderNode): void {
  const { disk, image, version } = run.result('choose');
  if (node.osDisk === disk && node.image === image && node.version === version) return;
  throw replaced(run);
}

function requireStopped(run: DonorRun, node: ProviderNode): void {
  requireSame(run, node);
  if (node.power === 'stopped') return;
  throw new ImagoError(
    'provider-failed',
    `Node ${node.name} was started while its disk was to be copied: ${node.power}.`,
    { retryable: false },
  );
}
