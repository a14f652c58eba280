// Runs the steps of a recipe in the machine of a build, each as a job that is attached to again after whatever happened:
// nothing runs twice on the disk that is sealed, and no lost reply matters.
import type { GuestJobState } from '../../domain/build/guest-job.ts';
import { type MachineStep, snapshotOf } from '../../domain/build/machine-plan.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { settle } from '../../workflow/poll-until.ts';
import { ask, follow, jobId, silenceMs, wakeUp } from './follow-job.ts';
import { bringInputs, textOf } from './inputs.ts';
import {
  createMachine,
  findMachine,
  marksOf,
  removeMachine,
  type Site,
  snapshotMachine,
  switchMachine,
  unlessBusy,
  waiting,
} from './machine.ts';
import { finishPatch, isPatched } from './windows-guest.ts';

export interface StepOutcome {
  readonly name: string;
  /** Of the script. */
  readonly digest: string;
  readonly ms: number;
  /** The disk of an earlier build had it. */
  readonly reused?: true;
  /** How often the machine restarted in its middle; it began again from the disk before it. */
  readonly restarts?: number;
}

/** How often a step begins again after an unexpected restart. */
const maxRestarts = 2;
/** What installers of Windows say when they want one. */
const restartWanted = 3010;
/** Marks the snapshots that later builds continue from. */
export const cacheTag = 'build-cache';

/** Runs the step, or attaches to it. Afterwards the disk with it has a snapshot. */
export async function runStep(site: Site, step: MachineStep): Promise<StepOutcome> {
  const { run, plan } = site;
  const { name, digest, number } = step;
  const script = await textOf(site, step.script);
  for (;;) {
    const machine = await findMachine(site);
    const { done, attempt } = machine === undefined ? { done: 0, attempt: 0 } : marksOf(machine);
    if (machine !== undefined && number <= done) return { name, digest, ms: 0, reused: true };
    run.progress(number - 1, plan.steps.length, name);
    const job = machine && (await follow(site, step, script));
    const isDone = job?.state === 'done' || (await isPatched(site, step));
    if (job === undefined || !isDone) {
      if (attempt >= maxRestarts) throw restartLoop(step);
      run.log(
        `The machine restarted in the middle of step ${name}: it begins again from the disk before it.`,
      );
      await rollBack(site, number - 1, attempt + 1);
      continue;
    }
    const again = () => restart(site, step, script);
    if (step.patch !== undefined) await finishPatch(site, step.patch, job, again);
    else if (step.task === 'features' && job.exitCode === restartWanted) await again();
    else if (job.exitCode !== 0) throw failed(site, step, job);
    if (step.restart) await again();
    await snapshotMachine(site, snapshotOf(step.key), { kind: cacheTag, step: name });
    return { name, digest, ms: job.ms, ...(attempt > 0 && { restarts: attempt }) };
  }
}

/** The boot of the job tells whether the machine has restarted since. */
async function restart(site: Site, step: MachineStep, script: string): Promise<void> {
  const look = async () => {
    const job = await ask(site, { id: jobId(step), script, from: 0 });
    return job ?? (await wakeUp(site));
  };
  const wait = waiting(site, silenceMs, `The restart after step ${step.name}`);
  const before = await settle(async () => (await look()) ?? undefined, wait);
  if (before.boot !== before.startedIn) return;
  await switchMachine(site, 'stopped');
  await switchMachine(site, 'running');
  await settle(async () => {
    const job = await look();
    return job && job.boot !== job.startedIn ? true : undefined;
  }, wait);
}

/** Gives the machine the disk that it had after that many steps. */
async function rollBack(site: Site, done: number, attempt: number): Promise<void> {
  await removeMachine(site);
  const create = async () => {
    await createMachine(site, done, attempt);
    return findMachine(site);
  };
  await settle(() => unlessBusy(create), waiting(site, silenceMs, `Machine ${site.name}`));
  if (done === 0) await bringInputs(site);
}

function failed({ run }: Site, { name }: MachineStep, { exitCode }: GuestJobState): ImagoError {
  return new ImagoError('build-failed', `Step ${name} ended with ${exitCode}.`, {
    hint: `See its output with \`imago op show ${run.operation.id} --logs\`. Build with --keep-failed to look at the machine.`,
  });
}

function restartLoop({ name }: MachineStep): ImagoError {
  const times = maxRestarts + 1;
  return new ImagoError(
    'build-failed',
    `The machine restarted in the middle of step ${name}, ${times} times.`,
    {
      hint: 'A step that needs a restart ends first: write `restart: true`, and put what comes after it into another step.',
    },
  );
}
