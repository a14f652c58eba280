// The steps of a build on a machine: start it from the locked base or from the disk of an earlier build, bring the inputs
// in, run the steps of the recipe, stop it, and seal its disk. The machine is gone at the end, however it ends, unless a
// person asked for that of a failed build.
import { plannedSteps } from '../../domain/build/machine-plan.ts';
import type { BuildInput } from '../../domain/build/operations.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { Builder, SealedDisk } from '../../ports/provider/builder.ts';
import { requireImages, requireRole } from '../common/deps.ts';
import type { AnyStep, Run } from '../common/operation.ts';
import { requireBase } from './base.ts';
import { runStep, type StepOutcome } from './guest-jobs.ts';
import { bringInputs } from './inputs.ts';
import {
  cachedSteps,
  createMachine,
  findMachine,
  type LockResult,
  marksOf,
  removeMachine,
  removeSnapshot,
  type Site,
  siteOf,
  snapshotMachine,
  switchMachine,
} from './machine.ts';
import { generalize, requireFit } from './windows-guest.ts';

interface Begun {
  /** Absent if the disk of the lock was sealed before: then nothing is done. */
  readonly machine?: string;
  /** How many steps its disk had from the beginning. */
  readonly reused?: number;
}

interface Results {
  readonly lock: LockResult;
  readonly machine: Begun;
  readonly build: SealedDisk;
  readonly [step: `step-${number}`]: StepOutcome;
}
type MachineRun = Run<BuildInput, Results>;
type MachineStep = AnyStep<BuildInput, Results>;

const captureMs = 2 * 3_600_000;
/** Beyond the limit of a recipe's step: its machine boots, restarts, and may be rolled back. */
const marginMs = 3 * 3_600_000;

/** The results of these steps that others read. */
export interface MachineResults {
  readonly build: SealedDisk;
}

export function isOnMachine({ recipe, builds }: BuildInput): boolean {
  return builds === undefined && recipe?.method === 'machine';
}

export function machineSteps(input: BuildInput): readonly MachineStep[] {
  if (!isOnMachine(input)) return [];
  const recipe = input.recipe as Recipe;
  const steps = plannedSteps(recipe);
  return [
    startStep,
    { name: 'inputs', do: whileBuilding((site) => firstInputs(site)) },
    ...steps.map(({ timeoutMs }, index): MachineStep => {
      const body = whileBuilding((site) => {
        const step = site.plan.steps[index];
        if (step === undefined) throw new ImagoError('internal', `The lock has no step ${index + 1}.`);
        return runStep(site, step);
      });
      return { name: `step-${index + 1}`, do: body, timeoutMs: timeoutMs + marginMs };
    }),
    ...(recipe.os === 'windows' ? [generalizeStep] : []),
    { name: 'stop', do: whileBuilding((site) => switchMachine(site, 'stopped')) },
    sealStep,
    { name: 'discard', do: whileBuilding((site) => discard(site)) },
  ];
}

function builderOf({ provider, input }: MachineRun): Builder {
  return requireRole(provider(input.provider), 'builder');
}

/** Nothing for a lock whose disk exists. */
function whileBuilding<T>(work: (site: Site) => Promise<T>) {
  return async (run: MachineRun): Promise<T | null> =>
    run.result('machine').machine === undefined ? null : work(siteOf(run));
}

const startStep: MachineStep = {
  name: 'machine',
  async do(run: MachineRun): Promise<Begun> {
    const site = siteOf(run);
    await requireBase(run, site.plan.base);
    const reused = await cachedSteps(site);
    for (const { name } of site.plan.steps.slice(0, reused)) run.log(`Step ${name}: reused.`);
    await createMachine(site, reused, 0);
    return { machine: site.name, reused };
  },
  async verify(run: MachineRun): Promise<Begun | undefined> {
    const site = siteOf(run);
    const machine = await findMachine(site);
    if (machine !== undefined) return { machine: site.name, reused: marksOf(machine).done };
    if (run.maybe('machine')?.machine !== undefined) return undefined;
    return (await builderOf(run).find(run.result('lock').lockDigest, run.call)) && {};
  },
  async undo(run: MachineRun): Promise<'kept' | undefined> {
    if (run.maybe('lock') === undefined) return undefined;
    const site = siteOf(run);
    await removeSnapshot(site, captureOf(site));
    if (await isKept(run)) {
      run.log(`Kept for debugging, for four hours: ${site.name}. See \`imago node shell ${site.name}\`.`);
      return 'kept';
    }
    await removeMachine(site);
    return undefined;
  },
};

/** A build that was cancelled keeps nothing. */
async function isKept(run: MachineRun): Promise<boolean> {
  if (run.input.keepFailed !== true) return false;
  return (await run.journal.get(run.operation.id))?.cancelRequestedBy === undefined;
}

const generalizeStep: MachineStep = {
  name: 'generalize',
  do: whileBuilding(generalize),
  timeoutMs: marginMs,
};

async function firstInputs(site: Site): Promise<void> {
  if (site.isWindows) await requireFit(site);
  const machine = await findMachine(site);
  if (machine !== undefined && marksOf(machine).done === 0) await bringInputs(site);
}

const sealStep: MachineStep = {
  name: 'build',
  async do(run: MachineRun): Promise<SealedDisk> {
    const builder = builderOf(run);
    const { lock, lockDigest } = run.result('lock');
    const sealed = await builder.find(lockDigest, run.call);
    if (sealed !== undefined) return sealed;
    const site = siteOf(run);
    const snapshot = captureOf(site);
    await snapshotMachine(site, snapshot, { operation: run.operation.id });
    const { name: image } = lock.recipe;
    const parent = `sha256:${site.plan.base.sha256}`;
    const disks = requireRole(site.provider, 'disks');
    if (disks.sealSnapshot === undefined)
      throw new ImagoError('provider-lacks', `Provider ${site.provider.name} does not seal disks.`);
    const disk = await disks.sealSnapshot(
      snapshot,
      image,
      (path) =>
        requireImages(run).files.sealCaptured({ path, image, parent, ...(site.isWindows && { lock }) }, run),
      run.call,
    );
    const { digest, diskDigest, sizeBytes } = disk;
    const built = { digest, diskDigest, sizeBytes, timings: timingsOf(run, site) };
    await builder.remember?.({ lock, lockDigest }, built, run.call);
    return built;
  },
  verify: (run: MachineRun) => builderOf(run).find(run.result('lock').lockDigest, run.call),
  timeoutMs: captureMs,
};

function timingsOf(run: MachineRun, { plan }: Site): NonNullable<SealedDisk['timings']> {
  return plan.steps.flatMap(({ number }) => {
    const outcome = run.maybe(`step-${number}`);
    return outcome === undefined || outcome.reused ? [] : [{ step: outcome.name, ms: outcome.ms }];
  });
}

/** The snapshot that the version is made from. */
function captureOf({ name }: Site): string {
  return `${name}-capture`;
}

async function discard(site: Site): Promise<void> {
  await removeSnapshot(site, captureOf(site));
  await removeMachine(site);
}
