// What is particular about a Windows machine of a build: what it says of itself decides, not what its installers answer.
// It is refused if its base is another one than the recipe says, and is generalized at the end.

import type { GuestJobState } from '../../domain/build/guest-job.ts';
import type { MachineStep } from '../../domain/build/machine-plan.ts';
import { judgeInstaller, requireInstalled } from '../../domain/build/windows-installer.ts';
import {
  factsScript,
  readFacts,
  sealedState,
  tidyScript,
  type WindowsFacts,
} from '../../domain/build/windows-job.ts';
import { sealStep } from '../../domain/build/windows-steps.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { WindowsPatch } from '../../domain/recipe/recipe.ts';
import { patchName, readBuild } from '../../domain/recipe/windows.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { settle } from '../../workflow/poll-until.ts';
import { follow, wakeUp } from './follow-job.ts';
import { findMachine, marksOf, type Site, unlessBusy, waiting } from './machine.ts';

const answerMs = 20 * 60_000;
const commandMs = 120_000;
/** CBS's number of an installed package. */
const installed = 0x70;
const readyState = 'IMAGE_STATE_COMPLETE';
/** An update unpacks to a multiple of its file, and the log of it must have room too. */
const unpackFactor = 3;
const spareBytes = 1024 ** 3;

/** Waits until the machine answers, also after a restart. */
async function factsOf(site: Site): Promise<WindowsFacts> {
  const { machines, name, run } = site;
  const command = { script: factsScript, timeoutMs: commandMs, shell: 'powershell' } as const;
  const look = async () => {
    const facts = await unlessBusy(async () =>
      readFacts((await machines.runCommand(name, command, run.call)).stdout),
    );
    if (facts === undefined) await wakeUp(site);
    return facts;
  };
  return settle(look, waiting(site, answerMs, `The Windows of machine ${name}`));
}

/** Throws if the recipe cannot work on this base, before anything is changed. */
export async function requireFit(site: Site): Promise<void> {
  const machine = await findMachine(site);
  if (machine === undefined || marksOf(machine).done > 0) return;
  const { windows = {} } = site.run.result('lock').lock.recipe;
  const facts = await factsOf(site);
  const is = `${facts.build}.${facts.ubr}`;
  const wanted = windows.base?.build;
  if (wanted !== undefined && wanted !== is) {
    throw new ImagoError('build-failed', `The base is Windows ${is}, and the recipe says ${wanted}.`, {
      hint: 'Correct `windows.base.build`, or set `base.image` to a version of that build.',
    });
  }
  for (const patch of windows.patches ?? []) {
    if (patch.build === undefined || readBuild(patch.build).build === facts.build) continue;
    const other = readBuild(patch.build).build;
    throw new ImagoError(
      'build-failed',
      `${patchName(patch)} is for build ${other}, and the base is ${is}.`,
      {
        hint: 'Use the update of that build: each Windows Server has its own.',
      },
    );
  }
  if (facts.imageState !== readyState) {
    throw new ImagoError('build-failed', `The base is in state ${facts.imageState}, not ${readyState}.`, {
      hint: 'Import a disk that was generalized with Sysprep, so that it completes its setup on the machine.',
    });
  }
  const sizes = site.plan.inputs.filter(({ component }) => component === undefined);
  const needs = spareBytes + Math.max(0, ...sizes.map(({ input }) => input.sizeBytes)) * unpackFactor;
  if (facts.freeBytes >= needs) return;
  const room = `${formatBytes(facts.freeBytes)} are free, and its updates need ${formatBytes(needs)}`;
  throw new ImagoError('disk-too-small', `The disk of the base is too small: ${room}.`);
}

/** Whether the step's update is on the machine: an installer can have restarted it, and its exit code is gone then. */
export async function isPatched(site: Site, { patch }: MachineStep): Promise<boolean> {
  if (patch === undefined) return false;
  const { updates } = await factsOf(site);
  return updates[patch.kb] === installed;
}

/** Restarts if that is wanted. Throws unless the update is installed in the end: exit codes prove nothing. */
export async function finishPatch(
  site: Site,
  patch: WindowsPatch,
  { exitCode, state }: GuestJobState,
  restart: () => Promise<void>,
): Promise<void> {
  const label = patchName(patch);
  const result = state === 'done' ? requireInstalled(label, exitCode) : judgeInstaller(1641);
  site.run.log(`${label}: ${result.code}, ${result.meaning}.`);
  const before = await factsOf(site);
  const wants = result.outcome === 'restart' || before.pending.length > 0;
  if (wants || before.updates[patch.kb] !== installed) await restart();
  const after = await factsOf(site);
  const found = after.updates[patch.kb];
  const [is, wanted] = [`${after.build}.${after.ubr}`, patch.build];
  const isCumulative = (patch.kind ?? 'cumulative') === 'cumulative';
  const isBehind = isCumulative && wanted !== undefined && readBuild(wanted).revision > after.ubr;
  if (found === installed && !isBehind) return;
  const how =
    found === undefined ? 'its package is missing' : `its package is in state 0x${found.toString(16)}`;
  const why = patch.private === true ? '' : `; the system is ${is}`;
  throw new ImagoError(
    'patch-failed',
    `${label} reported ${result.code}, but is not installed after the restart: ${how}${why}.`,
    {
      hint: 'Windows undid it during the restart. Build with --keep-failed, and read C:\\Windows\\Logs\\CBS\\CBS.log.',
    },
  );
}

/** Generalizes the system unless it is, and removes what the build left. Proof are its state, and Sysprep's mark. */
export async function generalize(site: Site): Promise<void> {
  const { machines, name, run } = site;
  const before = await factsOf(site);
  if (!isGeneralized(before)) {
    if (before.pending.length > 0) {
      const what = before.pending.join(', ');
      throw new ImagoError(
        'build-failed',
        `The machine waits for a restart before it can be sealed: ${what}.`,
        {
          hint: 'Add `restart: true` to the last step of the recipe.',
        },
      );
    }
    await runSysprep(site);
  }
  const command = { script: tidyScript, timeoutMs: commandMs, shell: 'powershell' } as const;
  await settle(
    () => unlessBusy(() => machines.runCommand(name, command, run.call)),
    waiting(site, answerMs, `The shell of machine ${name}`),
  );
}

function isGeneralized({ imageState, stateFile, tag }: WindowsFacts): boolean {
  return tag && imageState === sealedState && stateFile.includes(`ImageState=${sealedState}`);
}

async function runSysprep(site: Site): Promise<void> {
  const key = site.plan.steps.at(-1)?.key ?? site.plan.key;
  const step = { ...sealStep, number: site.plan.steps.length + 1, key };
  const job = await follow(site, step, sealStep.script).catch((thrown: unknown) => {
    if (!(thrown instanceof ImagoError) || thrown.code !== 'build-failed') throw thrown;
    return thrown;
  });
  const facts = await factsOf(site);
  if (!(job instanceof ImagoError) && job.state === 'done' && job.exitCode === 0 && isGeneralized(facts))
    return;
  const said = facts.errors === '' ? '' : ` Its log says: ${facts.errors}`;
  throw new ImagoError('build-failed', `${whyNot(job, facts)}${said}`, {
    hint: 'Remove what the log names with a step of the recipe. --keep-failed keeps the machine for you to look at.',
  });
}

function whyNot(job: GuestJobState | ImagoError, { imageState, tag }: WindowsFacts): string {
  if (job instanceof ImagoError) return `Sysprep did not end: ${job.message}`;
  if (job.state !== 'done') return 'The machine restarted while Sysprep ran.';
  if (job.exitCode !== 0) return `Sysprep ended with ${job.exitCode}.`;
  const mark = tag ? '' : ', and it left no mark of success';
  return `Sysprep ended with 0, but the system is in state ${imageState || 'unknown'}${mark}.`;
}
