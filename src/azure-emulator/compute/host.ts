// The machine of the model behind a virtual machine or an instance, and its states as Azure writes them.
import type { ProvisioningError, ProvisioningState } from '../../ports/provider/call.ts';
import type { NodeHealth, NodePower } from '../../ports/provider/pools.ts';
import type { Document } from '../arm/documents.ts';
import { type Call, type Face, modelCall } from '../arm/face.ts';
import { type Json, listAt, part, textAt } from '../arm/json.ts';
import { azureTime, type OperationState } from '../arm/operations.ts';

export interface HostState {
  readonly machineId: string;
  readonly state: ProvisioningState;
  readonly power: NodePower;
  readonly createdAt: string;
  readonly osDisk?: string;
  readonly health?: NodeHealth;
  readonly error?: ProvisioningError;
}

export const states = {
  creating: 'Creating',
  updating: 'Updating',
  ready: 'Succeeded',
  failed: 'Failed',
  deleting: 'Deleting',
} as const satisfies Record<ProvisioningState, string>;

/** A host is named by its machine, or by its pool and node. */
export function readHost(face: Face, own: Json): Promise<HostState | undefined> {
  const { machine, pool, node } = own;
  return typeof machine === 'string'
    ? face.cloud.machines.getMachine(machine, modelCall)
    : face.cloud.pools.getNode(String(pool), String(node), modelCall);
}

export function stopHost(face: Face, { machine, pool, node }: Json): Promise<void> {
  return typeof machine === 'string'
    ? face.cloud.machines.stopMachine(machine, modelCall)
    : face.cloud.pools.stopNode(String(pool), String(node), modelCall);
}

export function startHost(face: Face, { machine, pool, node }: Json): Promise<void> {
  return typeof machine === 'string'
    ? face.cloud.machines.startMachine(machine, modelCall)
    : face.cloud.pools.startNode(String(pool), String(node), modelCall);
}

export function deleteHost(face: Face, { machine, pool, node }: Json): Promise<void> {
  return typeof machine === 'string'
    ? face.cloud.machines.deleteMachine(machine, modelCall)
    : face.cloud.pools.deleteNode(String(pool), String(node), modelCall);
}

/** Work that has ended when all these hosts are at rest, and failed if one of them did. */
export function settling(
  { face }: Call,
  owns: readonly Json[],
  notBefore = 0,
): () => Promise<OperationState> {
  let ended: OperationState | undefined;
  return async () => {
    if (ended !== undefined) return ended;
    if (face.clock.now() < notBefore) return { status: 'InProgress' };
    const found = await Promise.all(owns.map((own) => readHost(face, own)));
    const busy = found.some(
      (host) =>
        host !== undefined &&
        (['creating', 'updating', 'deleting'].includes(host.state) ||
          ['starting', 'stopping'].includes(host.power)),
    );
    if (busy) return { status: 'InProgress' };
    ended = ending(face, found.find((host) => host?.state === 'failed')?.error);
    return ended;
  };
}

export function ending(face: Face, error: ProvisioningError | undefined): OperationState {
  const endedAt = face.clock.now();
  if (error === undefined) return { status: 'Succeeded', endedAt };
  return { status: 'Failed', endedAt, error: { code: error.code, message: error.message } };
}

export function provisioningStatus(state: ProvisioningState, at: string, error?: ProvisioningError): Json {
  if (state === 'failed') {
    const code = `ProvisioningState/failed/${error?.code ?? 'InternalExecutionError'}`;
    return {
      code,
      level: 'Error',
      displayStatus: 'Provisioning failed',
      message: error?.message ?? '',
      time: at,
    };
  }
  const shown = {
    creating: 'Creating',
    updating: 'Updating',
    ready: 'Provisioning succeeded',
    deleting: 'Deleting',
  };
  const code = `ProvisioningState/${state === 'ready' ? 'succeeded' : state}`;
  return { code, level: 'Info', displayStatus: shown[state], time: at };
}

function powerStatus(power: NodePower, deallocates: boolean): Json {
  const stopped = deallocates ? 'deallocated' : 'stopped';
  const stopping = deallocates ? 'deallocating' : 'stopping';
  const word = { running: 'running', starting: 'starting', stopping, stopped }[power];
  return { code: `PowerState/${word}`, level: 'Info', displayStatus: `VM ${word}` };
}

export function isDeallocated(own: Json, { power }: HostState): boolean {
  return power === 'stopped' && own.deallocated === true;
}

/** Returns the instance view. A deallocated machine has no agent that could say more. */
export function instanceView(
  face: Face,
  { body, own = {} }: Document,
  host: HostState,
  generation: string,
): Json {
  const now = azureTime(face.clock.now());
  const storage = part(body, 'properties', 'storageProfile');
  const ready = provisioningStatus('ready', now);
  const disks = [part(storage, 'osDisk'), ...listAt(storage, 'dataDisks').map((disk) => part(disk))];
  const domain = part(body, 'properties').platformFaultDomain;
  const runs = host.state === 'ready' && !isDeallocated(own, host);
  const agent = {
    code: 'ProvisioningState/succeeded',
    level: 'Info',
    displayStatus: 'Ready',
    message: 'Guest Agent is running',
    time: now,
  };
  const guest = {
    computerName: textAt(body, 'properties', 'osProfile', 'computerName') ?? 'vm',
    ...{ osName: 'imago', osVersion: '1' },
    vmAgent: { vmAgentVersion: '2.0.0.0', statuses: [agent], extensionHandlers: [] },
  };
  return {
    ...(domain === undefined ? {} : { platformFaultDomain: domain }),
    ...(runs ? guest : {}),
    disks: disks.map((disk) => ({ name: disk.name, statuses: [ready] })),
    hyperVGeneration: generation,
    statuses: [
      provisioningStatus(host.state, now, host.error),
      ...(own.generalized === true
        ? [{ code: 'OSState/generalized', level: 'Info', displayStatus: 'VM generalized' }]
        : []),
      powerStatus(host.power, own.deallocated === true),
    ],
  };
}
