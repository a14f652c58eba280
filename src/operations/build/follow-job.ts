// Follows a job in the machine of a build until it has ended, whatever happens to the machine or to a reply.
import {
  type GuestJob,
  type GuestJobState,
  jobScript,
  maxOutput,
  readJob,
} from '../../domain/build/guest-job.ts';
import type { MachineStep } from '../../domain/build/machine-plan.ts';
import { windowsJobScript } from '../../domain/build/windows-job.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import type { MachineCommand } from '../../ports/provider/machines.ts';
import { findMachine, type Site, unlessBusy } from './machine.ts';

export const silenceMs = 15 * 60_000;
const askMs = 60_000;

export type FollowedStep = Pick<MachineStep, 'number' | 'name' | 'key' | 'timeoutMs'>;

/** Asks for the job until it has ended. */
export async function follow(site: Site, step: FollowedStep, script: string): Promise<GuestJobState> {
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
export async function wakeUp(site: Site): Promise<void> {
  await unlessBusy(async () => {
    const machine = await findMachine(site);
    if (machine?.power === 'stopped') await site.machines.startMachine(site.name, site.run.call);
  });
}

/** `undefined` while the machine does not answer. */
export function ask(
  { run, machines, name, isWindows }: Site,
  job: GuestJob,
): Promise<GuestJobState | undefined> {
  const command: MachineCommand = isWindows
    ? { script: windowsJobScript(job), timeoutMs: askMs, shell: 'powershell' }
    : { script: jobScript(job), timeoutMs: askMs };
  return unlessBusy(async () => readJob((await machines.runCommand(name, command, run.call)).stdout));
}

/** The same step of the same build has the same job, on any machine. */
export function jobId({ number, key }: FollowedStep): string {
  return `${number}-${key.slice(0, 16)}`;
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

function tooLong({ name, timeoutMs }: FollowedStep): ImagoError {
  return new ImagoError('build-failed', `Step ${name} did not end within ${formatDuration(timeoutMs)}.`, {
    hint: 'Give it more time with `timeout` in the recipe, or look at the machine with --keep-failed.',
  });
}

function silent({ name }: FollowedStep): ImagoError {
  const time = formatDuration(silenceMs);
  return new ImagoError('build-failed', `The machine gave no answer for ${time} in step ${name}.`, {
    hint: 'Build with --keep-failed, and see its console with `imago node console NAME`.',
  });
}
