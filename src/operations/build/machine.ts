// The machine of a build: created from the base or from a snapshot of an earlier build, restarted, rolled back, and
// deleted. Everything about it is read from the provider, so a new process continues with it.
import { type MachinePlan, planMachine, snapshotOf } from '../../domain/build/machine-plan.ts';
import type { BuildInput } from '../../domain/build/operations.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { LayerPreview } from '../../ports/provider/builder.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Machine, MachineSpec, Machines } from '../../ports/provider/machines.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import { requireRole } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';

export interface LockResult {
  readonly lock: Lock;
  readonly lockDigest: string;
}

export type MachineRun = Run<BuildInput, { readonly lock: LockResult }>;

export interface Site {
  readonly run: MachineRun;
  readonly provider: Provider;
  readonly machines: Machines;
  readonly plan: MachinePlan;
  readonly name: string;
  /** It has Windows, and PowerShell. */
  readonly isWindows: boolean;
}

const bootMs = 15 * 60_000;
const removalMs = 10 * 60_000;
const snapshotMs = 30 * 60_000;

export function siteOf(run: MachineRun): Site {
  const provider = run.provider(run.input.provider);
  const plan = planMachine(run.result('lock').lock, run.sha256);
  return {
    ...{ run, provider, machines: requireRole(provider, 'machines') },
    ...{ plan, isWindows: plan.os === 'windows' },
    name: `build-${run.sha256(run.operation.id).slice(0, 16)}`,
  };
}

export function waiting({ run, provider }: Site, deadlineMs: number, what: string) {
  return { clock: provider.clock, signal: run.signal, deadlineMs, what };
}

/** With the steps that a snapshot of the provider holds as hits. */
export async function withSnapshots<L extends Pick<LayerPreview, 'state' | 'snapshot'>>(
  { disks }: Provider,
  layers: readonly L[],
  call: CallOptions,
): Promise<readonly Omit<L, 'snapshot'>[]> {
  const told: Omit<L, 'snapshot'>[] = [];
  for (const { snapshot, ...layer } of layers) {
    const found = snapshot === undefined ? undefined : await disks?.getSnapshot(snapshot, call);
    told.push(found?.state === 'ready' ? { ...layer, state: 'hit' } : layer);
  }
  return told;
}

/** How many of the first steps are on the disk of the newest snapshot that there is. */
export async function cachedSteps({ run, provider, plan }: Site): Promise<number> {
  for (const { number, key } of plan.steps.toReversed()) {
    const found = await requireRole(provider, 'disks').getSnapshot(snapshotOf(key), run.call);
    if (found?.state === 'ready') return number;
  }
  return 0;
}

/** Creates the machine with the first steps on its disk. `attempt` counts how often it was rolled back. */
export async function createMachine(site: Site, done: number, attempt: number): Promise<void> {
  const { run, machines, plan, name } = site;
  const { base, steps } = plan;
  const { recipe } = run.result('lock').lock;
  const from = steps[done - 1];
  const spec: MachineSpec = {
    ...{ name, image: base.name, version: base.version, digest: `sha256:${base.sha256}` },
    ...{ size: 'small', firmware: 'direct', userData: '' },
    tags: { operation: run.operation.id, done: String(done), attempt: String(attempt) },
    ...(from && { snapshot: snapshotOf(from.key) }),
    ...(recipe.disk && { diskBytes: recipe.disk.sizeBytes }),
    build: true,
  };
  await machines.createMachine(spec, run.call);
}

/** The machine, unless it is gone. Throws if it was never made; one that crashed can be started again. */
export async function findMachine({ run, machines, name }: Site): Promise<Machine | undefined> {
  const machine = await machines.getMachine(name, run.call);
  if (machine === undefined || machine.state === 'deleting') return undefined;
  if (machine.state !== 'failed' || machine.osDisk !== undefined) return machine;
  const why = machine.error?.message ?? 'it gives no reason';
  throw new ImagoError('build-failed', `The machine of the build failed: ${why}`, { hint: keepHint });
}

const keepHint = 'See its console: build again with --keep-failed, then `imago node console NAME`.';

/** How many steps were on its disk when it was created, and how often it was rolled back. */
export function marksOf({ tags }: Machine): { readonly done: number; readonly attempt: number } {
  return { done: Number(tags.done ?? 0), attempt: Number(tags.attempt ?? 0) };
}

export async function removeMachine(site: Site): Promise<void> {
  const { run, machines, name } = site;
  await machines.deleteMachine(name, run.call);
  const what = `The removal of machine ${name}`;
  await settleGone(() => machines.getMachine(name, run.call), waiting(site, removalMs, what));
}

/** Waits until it is switched as wanted, and switches it. A machine that stopped on its own is started again. */
export async function switchMachine(site: Site, power: 'stopped' | 'running'): Promise<void> {
  const { run, machines, name } = site;
  const look = async () => {
    const machine = await findMachine(site);
    if (machine === undefined) throw new ImagoError('provider-not-found', `Machine ${name} is gone.`);
    if (machine.power === power) return true;
    await (power === 'stopped'
      ? machines.stopMachine(name, run.call)
      : machines.startMachine(name, run.call));
    return undefined;
  };
  await settle(() => unlessBusy(look), waiting(site, bootMs, `Machine ${name}`));
}

/** Snapshots the disk as it is. What has that name already stays. */
export async function snapshotMachine(
  site: Site,
  snapshot: string,
  tags: Readonly<Record<string, string>>,
): Promise<void> {
  const { run, provider, name } = site;
  const disks = requireRole(provider, 'disks');
  const look = async () => {
    const known = await disks.getSnapshot(snapshot, run.call);
    if (known?.state === 'ready') return true;
    if (known?.state === 'creating' || known?.state === 'deleting') return undefined;
    const machine = await findMachine(site);
    if (machine?.osDisk === undefined) return undefined;
    await disks.createSnapshot({ name: snapshot, disk: machine.osDisk, tags }, run.call);
    return undefined;
  };
  await settle(() => unlessBusy(look), waiting(site, snapshotMs, `Snapshot ${snapshot} of machine ${name}`));
}

export async function removeSnapshot(site: Site, snapshot: string): Promise<void> {
  const { run, provider } = site;
  const disks = requireRole(provider, 'disks');
  const look = async () => {
    await disks.deleteSnapshot(snapshot, run.call);
    return (await disks.getSnapshot(snapshot, run.call)) === undefined ? true : undefined;
  };
  await settle(() => unlessBusy(look), waiting(site, removalMs, `The removal of snapshot ${snapshot}`));
}

/** `undefined` for what passes: the thing is busy, or it is not known whether the call had an effect. */
export async function unlessBusy<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (ensureImagoError(thrown).retryable) return undefined;
    throw thrown;
  }
}
