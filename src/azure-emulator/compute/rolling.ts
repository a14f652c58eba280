// Upgrades that a scale set does on its own: all together, in batches, and repairs of unhealthy nodes.
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { ArmError, gone } from '../arm/arm-error.ts';
import type { Document } from '../arm/documents.ts';
import { type Call, type Face, modelCall, type Routes } from '../arm/face.ts';
import { type Json, part, textAt } from '../arm/json.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import { accepted, requireDocument, timed } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { allNodes, isFlexible, makeNode, showNodes } from './nodes.ts';

const actions = [
  ['VMScaleSetActionsSubscriptionMaximum', 1_500],
  ['VMScaleSetActionsResource', 12],
  ['VMScaleSetBatchedVMRequestsSubscriptionMaximum', 6_000],
  ['VmssQueuedVMOperations', 0],
] as const;

export const rollingRoutes: Routes = {
  'POST virtualmachinescalesets/osrollingupgrade': {
    budgets: actions,
    answer: (call) => begin(call, ownerOf(call.address).id),
  },
  'POST virtualmachinescalesets/extensionrollingupgrade': {
    budgets: actions,
    answer: async (call) => waiting(call, requireDocument(call, ownerOf(call.address).id)),
  },
  'POST virtualmachinescalesets/reapply': {
    budgets: actions,
    answer: async (call) => waiting(call, requireDocument(call, ownerOf(call.address).id)),
  },
  'GET virtualmachinescalesets/osupgradehistory': { answer: history },
  'POST virtualmachinescalesets/rollingupgrades/*': { budgets: actions, answer: cancel },
  'GET virtualmachinescalesets/rollingupgrades/*': {
    budgets: [['GetVMScaleSetSubscriptionMaximum', 2_400]],
    answer: latest,
  },
  'POST virtualmachinescalesets/setorchestrationservicestate': { budgets: actions, answer: setService },
};

/**
 * Does what is due: the next batch of a rolling upgrade, an automatic one, a repair. `modelChanged` starts the upgrades
 * of sets that upgrade on their own.
 */
export async function advanceRolling(face: Face, set: Document, modelChanged = false): Promise<Document> {
  const mode = textAt(set.body, 'properties', 'upgradePolicy', 'mode');
  let current = set;
  if (modelChanged && mode !== 'Manual' && !isFlexible(set))
    current = store(face, set, { rolling: { startedAt: face.clock.now() } });
  await repair(face, current);
  const rolling = part(current.own, 'rolling');
  if (rolling.startedAt === undefined || rolling.code !== undefined) return current;
  const { pending, busy, failed, documents } = await progressOf(face, current);
  if (failed > 0)
    return store(face, current, { rolling: { ...rolling, code: 'Faulted', endedAt: face.clock.now() } });
  if (busy > 0) return current;
  if (pending.length === 0)
    return store(face, current, { rolling: { ...rolling, code: 'Completed', endedAt: face.clock.now() } });
  const percent = Number(
    part(current.body, 'properties', 'upgradePolicy', 'rollingUpgradePolicy').maxBatchInstancePercent ?? 20,
  );
  const size = mode === 'Automatic' ? pending.length : Math.max(1, Math.floor((documents * percent) / 100));
  for (const { own = {} } of pending.slice(0, size)) {
    await face.cloud.pools.upgradeNode(String(own.pool), String(own.node), modelCall);
    makeNode(
      face,
      current,
      String(own.node),
      String(own.machineId),
      new Date(face.clock.now()).toISOString(),
    );
  }
  return current;
}

function store(face: Face, set: Document, own: Json): Document {
  const document = { ...set, own: { ...set.own, ...own } };
  face.documents.set(document);
  return document;
}

async function progressOf(face: Face, set: Document) {
  const documents = await showNodes(face, set);
  const nodes = new Map((await allNodes(face, String(set.own?.pool))).map((node) => [node.machineId, node]));
  const stateOf = ({ own }: Document) => nodes.get(String(own?.machineId))?.state;
  const isCurrent = ({ own }: Document) => own?.profile === set.own?.profile;
  const isProtected = ({ own }: Document) => part(own, 'protection').protectFromScaleSetActions === true;
  return {
    documents: documents.length,
    pending: documents.filter((node) => !isCurrent(node) && !isProtected(node)),
    busy: documents.filter((node) => isCurrent(node) && stateOf(node) === 'updating').length,
    failed: documents.filter((node) => isCurrent(node) && stateOf(node) === 'failed').length,
    done: documents.filter((node) => isCurrent(node) && stateOf(node) === 'ready').length,
  };
}

/** Replaces an unhealthy node that is not protected, one at a time, after the grace period. */
async function repair(face: Face, set: Document): Promise<void> {
  const policy = part(set.body, 'properties', 'automaticRepairsPolicy');
  if (policy.enabled !== true || set.own?.repairsSuspended === true) return;
  const pool = String(set.own?.pool);
  const graceMs = Number(/^PT(\d+)M$/.exec(String(policy.gracePeriod))?.[1] ?? 10) * 60_000;
  const now = face.clock.now();
  const sick = (node: ProviderNode) =>
    node.health === 'unhealthy' &&
    node.state === 'ready' &&
    !node.protection.fromPoolActions &&
    now > Date.parse(node.imagedAt) + graceMs;
  const node = (await allNodes(face, pool)).find(sick);
  if (node === undefined) return;
  if (policy.repairAction === 'Reimage') return face.cloud.pools.reimageNode(pool, node.name, modelCall);
  const before = await face.cloud.pools.getPool(pool, modelCall);
  await face.cloud.pools.deleteNode(pool, node.name, modelCall);
  if (before !== undefined) await face.cloud.pools.setCapacity(pool, before.capacity, {}, modelCall);
}

async function begin(call: Call, id: string): Promise<Reply> {
  const set = requireDocument(call, id);
  if (isFlexible(set))
    throw new ArmError(409, 'OperationNotAllowed', 'Rolling upgrades need a uniform scale set.');
  const started = store(call.face, set, { rolling: { startedAt: call.face.clock.now() } });
  await advanceRolling(call.face, started);
  return waiting(call, set);
}

async function cancel(call: Call): Promise<Reply> {
  const set = requireDocument(call, call.address.id.replace(/\/rollingUpgrades\/.*$/i, ''));
  const rolling = part(set.own, 'rolling');
  if (rolling.startedAt === undefined || rolling.code !== undefined) {
    throw new ArmError(409, 'OperationNotAllowed', 'There is no rolling upgrade in progress.');
  }
  store(call.face, set, { rolling: { ...rolling, code: 'Cancelled', endedAt: call.face.clock.now() } });
  return waiting(call, set);
}

/** The last upgrade, as an entry of the history. */
async function history(call: Call): Promise<Reply> {
  const set = await advanceRolling(call.face, requireDocument(call, ownerOf(call.address).id));
  const rolling = part(set.own, 'rolling');
  if (rolling.startedAt === undefined) return { status: 200, body: { value: [] } };
  const { pending, busy, failed, done } = await progressOf(call.face, set);
  const runningStatus = {
    code: rolling.code ?? 'RollingForward',
    startTime: azureTime(Number(rolling.startedAt)),
    ...(rolling.endedAt === undefined ? {} : { endTime: azureTime(Number(rolling.endedAt)) }),
  };
  const progress = {
    successfulInstanceCount: done,
    failedInstanceCount: failed,
    inProgressInstanceCount: busy,
    pendingInstanceCount: pending.length,
  };
  const type = 'Microsoft.Compute/virtualMachineScaleSets/rollingUpgrades';
  const properties = { runningStatus, progress, startedBy: 'User' };
  return { status: 200, body: { value: [{ type, location: set.location, properties }] } };
}

function waiting(call: Call, { location }: Document): Reply {
  const state = timed(call, call.face.clock.now() + 2_000);
  return accepted(call, 202, { poll: 'operations', location, monitored: true, state });
}

async function latest(call: Call): Promise<Reply> {
  const id = call.address.id.replace(/\/rollingUpgrades\/.*$/i, '');
  const set = await advanceRolling(call.face, requireDocument(call, id));
  const rolling = part(set.own, 'rolling');
  if (rolling.startedAt === undefined) {
    throw gone();
  }
  const { pending, busy, failed, done } = await progressOf(call.face, set);
  const startTime = azureTime(Number(rolling.startedAt));
  const lastActionTime = azureTime(Number(rolling.endedAt ?? rolling.startedAt));
  const lastAction = rolling.code === 'Cancelled' ? 'Cancel' : 'Start';
  const counts = {
    successfulInstanceCount: done,
    failedInstanceCount: failed,
    inProgressInstanceCount: busy,
    pendingInstanceCount: pending.length,
  };
  const properties = {
    policy: part(set.body, 'properties', 'upgradePolicy', 'rollingUpgradePolicy'),
    runningStatus: { code: rolling.code ?? 'RollingForward', startTime, lastAction, lastActionTime },
    progress: counts,
  };
  return {
    status: 200,
    body: {
      location: set.location,
      name: 'latest',
      id: call.address.id,
      type: 'Microsoft.Compute/virtualMachineScaleSets/rollingUpgrades',
      properties,
    },
  };
}

async function setService(call: Call): Promise<Reply> {
  const { face, body, address } = call;
  const set = requireDocument(call, ownerOf(address).id);
  if (body.serviceName !== 'AutomaticRepairs' || !['Suspend', 'Resume'].includes(String(body.action))) {
    throw new ArmError(
      400,
      'InvalidParameter',
      'serviceName must be AutomaticRepairs, and action Suspend or Resume.',
      { target: 'action' },
    );
  }
  store(face, set, { repairsSuspended: body.action === 'Suspend' });
  return waiting(call, set);
}
