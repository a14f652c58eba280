// Actions on single virtual machines: power, generalize, reimage, and commands in the guest.
import { ArmError } from '../arm/arm-error.ts';
import type { Budget } from '../arm/budget.ts';
import type { Document } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { accepted, timed } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { readHost, settling, startHost, stopHost } from './host.ts';
import { longId } from './machine-body.ts';
import { requireMachine } from './virtual-machines.ts';

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

function waited(call: Call, document: Document, ms: number): Promise<Reply> {
  const state = timed(call, call.face.clock.now() + ms);
  return Promise.resolve(
    accepted(call, 202, { poll: 'operations', location: document.location, monitored: true, state }),
  );
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

async function runCommand(call: Call, document: Document): Promise<Reply> {
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
