// Runs the steps of a recipe in the machine of a build, each as a job that is attached to again after whatever happened:
// nothing runs twice on the disk that is sealed, and no lost reply matters.
import {
  type GuestJob,
  type GuestJobState,
  jobScript,
  maxOutput,
  readJob,
} from '../../domain/build/guest-job.ts';
import { type MachineStep, snapshotOf } from '../../domain/build/machine-plan.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import { settle } from '../../workflow/poll-until.ts';
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
const silenceMs = 15 * 60_000;
const askMs = 60_000;
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
    if (job === undefined || job.state === 'lost') {
      if (attempt >= maxRestarts) throw restartLoop(step);
      run.log(
        `The machine restarted in the middle of step ${name}: it begins again from the disk before it.`,
      );
      await rollBack(site, number - 1, attempt + 1);
      continue;
    }
    if (job.exitCode !== 0) throw failed(site, step, job);
    if (step.restart) await restart(site, step, script);
    await snapshotMachine(site, snapshotOf(step.key), { kind: cacheTag, step: name });
    return { name, digest, ms: job.ms, ...(attempt > 0 && { restarts: attempt }) };
  }
}

/** Asks for the job until it has ended. */
async function follow(site: Site, step: MachineStep, script: string): Promise<GuestJobState> {
  const { run, provider } = site;
  const { clock } = provider;
  const lines = outputLines((line) => run.log(line));
  let heardAt = clock.now();
  for (let from = 0; ; ) {
    // Only one that was asked after the limit gives up: a host that slept asks again first.
    const isLast = clock.now() - heardAt > silenceMs;
    const job = await ask(site, { id: jobId(step), script, from });
    if (job !== undefined) {
      heardAt = clock.now();
      from = job.next;
      lines(job.output);
      const isCut = job.output.length >= maxOutput / 2;
      if (!isCut && (job.state === 'done' || job.state === 'lost')) return job;
      if (job.state !== 'done' && job.ms > step.timeoutMs) throw tooLong(step);
    } else {
      if (isLast) throw silent(step);
      await wakeUp(site);
    }
    await clock.sleep(Math.min(5000, Math.max(500, (job?.ms ?? 0) / 20)), run.signal);
  }
}

/** A machine that stopped on its own is started again. */
async function wakeUp(site: Site): Promise<void> {
  await unlessBusy(async () => {
    const machine = await findMachine(site);
    if (machine?.power === 'stopped') await site.machines.startMachine(site.name, site.run.call);
  });
}

/** `undefined` while the machine does not answer. */
function ask({ run, machines, name }: Site, job: GuestJob): Promise<GuestJobState | undefined> {
  const command = { script: jobScript(job), timeoutMs: askMs };
  return unlessBusy(async () => readJob((await machines.runCommand(name, command, run.call)).stdout));
}

/** The same step of the same build has the same job, on any machine. */
function jobId({ number, key }: MachineStep): string {
  return `${number}-${key.slice(0, 16)}`;
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

/** Passes on whole lines. */
function outputLines(print: (line: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') print(line);
  };
}

function failed({ run }: Site, { name }: MachineStep, { exitCode }: GuestJobState): ImagoError {
  return new ImagoError('build-failed', `Step ${name} ended with ${exitCode}.`, {
    hint: `See its output with \`imago op show ${run.operation.id} --logs\`. Build with --keep-failed to look at the machine.`,
  });
}

function tooLong({ name, timeoutMs }: MachineStep): ImagoError {
  return new ImagoError('build-failed', `Step ${name} did not end within ${formatDuration(timeoutMs)}.`, {
    hint: 'Give it more time with `timeout` in the recipe, or look at the machine with --keep-failed.',
  });
}

function silent({ name }: MachineStep): ImagoError {
  const time = formatDuration(silenceMs);
  return new ImagoError('build-failed', `The machine gave no answer for ${time} in step ${name}.`, {
    hint: 'Build with --keep-failed, and see its console with `imago node console NAME`.',
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
