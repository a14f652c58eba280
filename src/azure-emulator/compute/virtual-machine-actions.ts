// Actions on single virtual machines: power, generalize, reimage, and commands in the guest.
import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import type { Budget } from '../arm/budget.ts';
import type { Document } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { isObject, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import { accepted, timed } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { deleteHost, readHost, settling, startHost, stopHost } from './host.ts';
import { longId } from './machine-body.ts';
import { changedDisks, requireMachine } from './virtual-machines.ts';

const updates = [
  ['UpdateVMSubscriptionMaximum', 1_500],
  ['UpdateVMResource', 12],
] as const;
const deletes = [
  ['DeleteVMSubscriptionMaximum', 1_500],
  ['DeleteVMResource', 12],
] as const;

type Action = (call: Call, document: Document) => Promise<Reply>;

export const virtualMachineActions: Routes = {
  ...route('start', start),
  ...route('poweroff', (call, document) => stop(call, document, false)),
  ...route('deallocate', (call, document) => stop(call, document, true), deletes),
  ...route('restart', (call, document) => waited(call, document, 26_000)),
  ...route('redeploy', (call, document) => waited(call, document, 60_000)),
  ...route('reapply', (call, document) => waited(call, document, 10_000)),
  ...route('performmaintenance', (call, document) => waited(call, document, 60_000)),
  ...route('converttomanageddisks', (call, document) => waited(call, document, 30_000)),
  ...route('simulateeviction', evict),
  ...route('assesspatches', (call, document) => waited(call, document, 30_000, () => assessment(call))),
  ...route('installpatches', installPatches),
  ...route('attachdetachdatadisks', moveDisks),
  ...route('reimage', reimage),
  ...route('generalize', generalize),
  ...route('runcommand', runCommand),
};

function route(name: string, action: Action, budgets: readonly Budget[] = updates): Routes {
  const answer = async (call: Call) => action(call, await requireMachine(call, ownerOf(call.address).id));
  return { [`POST virtualmachines/${name}`]: { budgets, answer } };
}

function started(call: Call, document: Document, own: Json): Reply {
  call.face.documents.set({ ...document, own });
  const state = settling(call, [own]);
  return accepted(call, 202, { poll: 'operations', location: document.location, monitored: true, state });
}

async function start(call: Call, document: Document): Promise<Reply> {
  const own = document.own ?? {};
  if (own.generalized === true) {
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `Operation 'start' is not allowed on VM '${document.name}' since the VM is generalized.`,
    );
  }
  await startHost(call.face, own);
  return started(call, document, { ...own, deallocated: false });
}

async function stop(call: Call, document: Document, deallocated: boolean): Promise<Reply> {
  const own = document.own ?? {};
  await stopHost(call.face, own);
  return started(call, document, { ...own, deallocated });
}

function waited(call: Call, document: Document, ms: number, output?: () => Json): Promise<Reply> {
  const state = timed(call, call.face.clock.now() + ms, output);
  return Promise.resolve(
    accepted(call, 202, { poll: 'operations', location: document.location, monitored: true, state }),
  );
}

async function evict(call: Call, document: Document): Promise<Reply> {
  const own = document.own ?? {};
  const { priority, evictionPolicy } = part(document.body, 'properties');
  requireSpot(priority);
  if (evictionPolicy !== 'Delete') {
    await stopHost(call.face, own);
    call.face.documents.set({ ...document, own: { ...own, deallocated: true } });
    return { status: 204 };
  }
  await deleteHost(call.face, own);
  call.face.documents.set({ ...document, own: { ...own, evicted: true } });
  return { status: 204 };
}

export function requireSpot(priority: unknown): void {
  if (priority === 'Spot' || priority === 'Low') return;
  throw new ArmError(
    409,
    'OperationNotAllowed',
    "Operation 'simulateEviction' is allowed only for Spot Virtual Machines",
  );
}

function assessment({ face }: Call): Json {
  const startDateTime = azureTime(face.clock.now());
  const counts = { criticalAndSecurityPatchCount: 0, otherPatchCount: 0, availablePatches: [] };
  return { status: 'Succeeded', rebootPending: false, startDateTime, ...counts };
}

async function installPatches(call: Call, document: Document): Promise<Reply> {
  const asked = part(call.body, 'windowsParameters');
  for (const list of ['kbNumbersToInclude', 'kbNumbersToExclude']) {
    const wrong = listAt(asked, list).find((number) => !/^KB\d+$/i.test(String(number)));
    if (wrong === undefined) continue;
    throw invalidParameter(
      `windowsParameters.${list}`,
      `The entry in '${list}' with value '${wrong}' is not valid. It must be a KBID such as KB4512508.`,
    );
  }
  const startDateTime = azureTime(call.face.clock.now());
  const counts = { installedPatchCount: 0, pendingPatchCount: 0, failedPatchCount: 0, patches: [] };
  return waited(call, document, 60_000, () => ({
    ...{ status: 'Succeeded', rebootStatus: 'NotNeeded', maintenanceWindowExceeded: false },
    ...{ startDateTime, ...counts },
  }));
}

/** Several data disks in one request, by their ids. */
async function moveDisks(call: Call, document: Document): Promise<Reply> {
  const storage = part(document.body, 'properties', 'storageProfile');
  const held = listAt(storage, 'dataDisks').filter(isObject);
  const idOf = (disk: unknown) =>
    (textAt(disk, 'managedDisk', 'id') ?? textAt(disk, 'diskId') ?? '').toLowerCase();
  const leaving = new Set(listAt(call.body, 'dataDisksToDetach').map(idOf));
  const kept = held.filter((disk) => !leaving.has(idOf(disk)));
  const free = (taken: readonly Json[]) => {
    for (let lun = 0; ; lun += 1) if (!taken.some((disk) => disk.lun === lun)) return lun;
  };
  const asked = [...kept];
  for (const { diskId, ...disk } of listAt(call.body, 'dataDisksToAttach').filter(isObject)) {
    const managedDisk = { id: diskId };
    asked.push({ lun: free(asked), createOption: 'Attach', ...disk, managedDisk });
  }
  const { id, group, location, name, own = {} } = document;
  const dataDisks = await changedDisks({ face: call.face, id, group, location, name, own }, held, asked);
  const storageProfile = { ...storage, dataDisks };
  const properties = { ...part(document.body, 'properties'), storageProfile };
  call.face.documents.set({ ...document, body: { ...document.body, properties } });
  return waited(call, document, 2_000, () => storageProfile);
}

/** The machine gets a new disk with another name. */
async function reimage(call: Call, document: Document): Promise<Reply> {
  const { face } = call;
  const disk = part(document.body, 'properties', 'storageProfile', 'osDisk');
  const found = face.documents.get(textAt(disk, 'managedDisk', 'id') ?? '');
  if (found !== undefined) {
    const name = found.name.replace(/[0-9a-f]{32}$/, longId(found.id, String(face.clock.now())));
    const id = `${found.id.slice(0, found.id.lastIndexOf('/'))}/${name}`;
    face.documents.delete(found.id);
    face.documents.set({ ...found, id, name });
    const osDisk = { name, managedDisk: { id } };
    const body = merge(document.body, { properties: { storageProfile: { osDisk } } });
    face.documents.set({
      ...document,
      body,
      own: { ...document.own, etag: Number(document.own?.etag ?? 1) + 1 },
    });
  }
  return waited(call, document, 79_000);
}

async function generalize(call: Call, document: Document): Promise<Reply> {
  const own = document.own ?? {};
  const host = await readHost(call.face, own);
  if (host?.power !== 'stopped') {
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `Please power off the VM '${document.name}' before generalizing.`,
    );
  }
  call.face.documents.set({ ...document, own: { ...own, generalized: true } });
  return { status: 200 };
}

export async function runCommand(call: Call, document: Document): Promise<Reply> {
  const { machine } = document.own ?? {};
  const script = listAt(call.body, 'script').join('\n');
  const run =
    typeof machine === 'string'
      ? call.face.cloud.machines.runCommand(machine, { script, timeoutMs: 90_000 }, modelCall)
      : undefined;
  const result = await run?.catch(() => undefined);
  const message = `Enable succeeded: \n[stdout]\n${result?.stdout ?? ''}\n[stderr]\n${result?.stderr ?? ''}`;
  const status = {
    code: 'ProvisioningState/succeeded',
    level: 'Info',
    displayStatus: 'Provisioning succeeded',
  };
  const output = () => ({ value: [{ ...status, message }] });
  const state = timed(call, call.face.clock.now() + 5_000, output);
  return accepted(call, 202, { poll: 'operations', location: document.location, monitored: true, state });
}
