// A scripted Windows in a simulated machine: it understands the scripts that Imago sends, keeps what they did on its disk,
// and misbehaves as ordered. It shows order and recovery, and nothing about Windows itself. Its habits, of
// `settings.sim.guest` in the recipe of the base:
//   code:KB:N      the installer ends with N          late:KB      it says 0, and a restart is needed
//   rollback:KB    undone during the restart          restarts:KB  it restarts the machine itself
//   needs:KB:KB    another update must be there       resets:KEY   a step of the recipe removes the value
//   keeps:FILE     the seal leaves it                 full         hardly any room
//   sysprep:WORD   hangs, fails, untagged, undeployable, or lies (says that it is sealed, and is not)
import { changeMachine } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { readJobScript } from '../../../domain/build/guest-job.ts';
import { sealedState } from '../../../domain/build/windows-job.ts';
import { readPurpose } from '../../../domain/build/windows-steps.ts';
import type { RecipeWindows } from '../../../domain/recipe/recipe.ts';
import { firstBootScript } from '../../../domain/windows-node/first-boot-script.ts';
import type { MachineCommandResult } from '../../../ports/provider/machines.ts';
import { readTraits } from '../world/traits.ts';
import { packageStates as states, type WindowsGuest } from '../world/windows-state.ts';
import { answerScript, sleepOf } from './run-command.ts';

interface StartedJob {
  readonly boot: string;
  readonly at: number;
  readonly exitCode?: number;
  readonly isLost?: true;
}

const seconds = { patch: 1200, features: 300, settings: 20, manifest: 10, seal: 300 };
const gibibyte = 1024 ** 3;
const appx =
  'SYSPRP Package Example.App_1.0.0.0_x64 was installed for a user, but not provisioned for all users.';

/** `undefined` for a machine without Windows. Call it in a transaction. */
export function answerWindows(
  world: World,
  row: MachineRow,
  command: string,
): MachineCommandResult | undefined {
  const traits = readTraits(row.traits);
  const { guest } = traits;
  if (guest === undefined) return undefined;
  noticeBoot(guest, bootOf(row, guest));
  const job = readJobScript(command);
  let stdout = '';
  let ran = traits.ran ?? [];
  if (job !== undefined) {
    const name = `job/${row.machineId}/${job.id}`;
    const known = world.fact(name);
    if (known === undefined) ran = [...ran, job.id];
    const before = known === undefined ? undefined : (JSON.parse(known) as StartedJob);
    const answer = workOn(guest, row, { ...job, script: jobText(command) }, before, world.time());
    world.setFact(name, JSON.stringify(answer.job));
    stdout = answer.stdout;
  } else if (command.startsWith('# imago-facts')) stdout = JSON.stringify(factsOf(guest));
  else if (command.startsWith('# imago-tidy')) removeFiles(guest, /^imago-build\//);
  changeMachine(world, row.machineId, { traits: JSON.stringify({ ...traits, guest, ran }) });
  return { exitCode: 0, stdout, stderr: '', truncated: false };
}

function bootOf({ machineId, bootedAt }: MachineRow, { restarts }: WindowsGuest): string {
  return `${machineId}-${bootedAt}-${restarts}`;
}

/** The first content in base64 is the script. */
function jobText(command: string): string {
  const [, text = ''] = /FromBase64String\('([^']*)'\)/.exec(command) ?? [];
  return Buffer.from(text, 'base64').toString('utf8');
}

/** What waits for a restart happens in it. A generalized system completes its setup. */
function noticeBoot(guest: WindowsGuest, boot: string): void {
  if (guest.boot === boot) return;
  guest.boot = boot;
  guest.pending = [];
  if (guest.imageState === sealedState)
    Object.assign(guest, { imageState: 'IMAGE_STATE_COMPLETE', tag: false });
  for (const [kb, update] of Object.entries(guest.updates)) {
    if (update.state !== states.pending) continue;
    const isUndone = guest.habits.includes(`rollback:${kb}`);
    update.state = isUndone ? states.staged : states.installed;
    if (!isUndone) raise(guest, update.build);
  }
}

function raise(guest: WindowsGuest, build: string | undefined): void {
  const [number, revision = 0] = (build ?? '').split('.').map(Number);
  if (number === guest.build) guest.ubr = Math.max(guest.ubr, revision);
}

function workOn(
  guest: WindowsGuest,
  row: MachineRow,
  { id, script }: { readonly id: string; readonly script: string },
  before: StartedJob | undefined,
  now: number,
): { readonly job: StartedJob; readonly stdout: string } {
  const purpose = readPurpose(script);
  let job: StartedJob = before ?? { boot: guest.boot, at: now };
  if (before === undefined) guest.files[`imago-build/jobs/${id}/script.ps1`] = script;
  const takes = durationOf(guest, purpose, script);
  const isOver = now >= job.at + takes;
  if (job.exitCode === undefined && job.isLost === undefined) {
    if (job.boot !== guest.boot) job = { ...job, isLost: true };
    else if (isOver) job = finish(guest, row, job, purpose, script);
  }
  const state = job.isLost ? 'lost' : job.exitCode === undefined ? 'running' : 'done';
  const ms = Math.min(now - job.at, takes);
  const head = `imago-job ${state} boot=${guest.boot} started=${job.boot} exit=${job.exitCode ?? 0} ms=${ms} next=0`;
  return { job, stdout: `${head}\n` };
}

type Purpose = ReturnType<typeof readPurpose>;

function durationOf({ habits }: WindowsGuest, purpose: Purpose, script: string): number {
  if (purpose?.do === 'seal' && habits.includes('sysprep:hangs')) return Number.MAX_SAFE_INTEGER;
  return (purpose === undefined ? sleepOf(script) : seconds[purpose.do]) * 1000;
}

function finish(
  guest: WindowsGuest,
  row: MachineRow,
  job: StartedJob,
  purpose: Purpose,
  script: string,
): StartedJob {
  const exitCode = purpose === undefined ? own(guest, row, script) : act(guest, purpose);
  if (purpose?.do !== 'patch' || !guest.habits.includes(`restarts:${String(purpose.kb)}`)) {
    return { ...job, exitCode };
  }
  guest.restarts += 1;
  noticeBoot(guest, bootOf(row, guest));
  return { ...job, isLost: true };
}

function own(guest: WindowsGuest, row: MachineRow, script: string): number {
  for (const key of habitsOf(guest, 'resets')) delete guest.registry[key];
  return answerScript(script, { hostname: row.name, machineId: row.machineId }).exitCode;
}

function habitsOf({ habits }: WindowsGuest, kind: string): readonly string[] {
  return habits.flatMap((habit) => (habit.startsWith(`${kind}:`) ? [habit.slice(kind.length + 1)] : []));
}

/** Does what the script would do, and returns its exit code. */
function act(guest: WindowsGuest, purpose: NonNullable<Purpose>): number {
  const told = purpose as unknown as {
    readonly [key in 'kb' | 'kind' | 'build']?: string;
  } & Pick<RecipeWindows, 'registry' | 'services' | 'features'> & { readonly manifest: unknown };
  if (purpose.do === 'patch') return install(guest, told);
  if (purpose.do === 'seal') return generalize(guest);
  if (purpose.do === 'manifest') {
    guest.files['imago/manifest.json'] = JSON.stringify(told.manifest);
    guest.files['imago/first-boot.ps1'] = firstBootScript;
  }
  guest.features.push(...(told.features ?? []));
  for (const { path, name, type, value } of told.registry ?? []) {
    guest.registry[`${path}\\${name}`] = { type, value };
  }
  for (const { name, start } of told.services ?? []) guest.services[name] = start;
  return purpose.do === 'features' ? 3010 : 0;
}

function install(
  guest: WindowsGuest,
  { kb = '', kind, build }: { readonly [key in 'kb' | 'kind' | 'build']?: string },
): number {
  const missing = habitsOf(guest, 'needs')
    .map((habit) => habit.split(':'))
    .some(([of, other = '']) => of === kb && guest.updates[other]?.state !== states.installed);
  if (missing) return 0x800f_0823;
  const ordered = habitsOf(guest, 'code').find((habit) => habit.startsWith(`${kb}:`));
  const code = ordered === undefined ? undefined : Number(ordered.slice(kb.length + 1));
  const works = code === undefined || [0, 3010, 0x0024_0005, 1641].includes(code);
  if (!works) return code;
  const isLate = guest.habits.includes(`late:${kb}`);
  const atOnce = kind === 'servicing-stack' && !isLate;
  guest.updates[kb] = { state: atOnce ? states.installed : states.pending, build };
  if (!atOnce && !isLate) guest.pending = ['RebootPending'];
  return code ?? (atOnce || isLate ? 0 : 3010);
}

function generalize(guest: WindowsGuest): number {
  const [how] = habitsOf(guest, 'sysprep');
  const kept = new Set(habitsOf(guest, 'keeps'));
  removeFiles(guest, /^(?:WindowsAzure|AzureData|Windows\/Temp|imago-build\/inputs)\//, kept);
  if (how === 'fails') {
    guest.errors = appx;
    return 1;
  }
  if (how === 'untagged' || how === 'lies') return 0;
  guest.imageState = how === 'undeployable' ? 'IMAGE_STATE_UNDEPLOYABLE' : sealedState;
  guest.tag = how !== 'undeployable';
  return 0;
}

function removeFiles({ files }: WindowsGuest, pattern: RegExp, kept: ReadonlySet<string> = new Set()): void {
  for (const path of Object.keys(files)) if (pattern.test(path) && !kept.has(path)) delete files[path];
}

function factsOf(guest: WindowsGuest): object {
  const isLying = guest.habits.includes('sysprep:lies') && guest.imageState !== sealedState;
  // Only after Sysprep has run, or it would never be run.
  const hasRun = Object.values(guest.files).some((text) => text.includes('"do":"seal"'));
  const imageState = isLying && hasRun ? sealedState : guest.imageState;
  const updates = Object.entries(guest.updates).map(([kb, { state }]) => [kb, state]);
  return {
    ...{ build: guest.build, ubr: guest.ubr, imageState, tag: guest.tag || (isLying && hasRun) },
    stateFile: `[State]\r\nImageState=${imageState}\r\n`,
    ...{ pending: guest.pending, errors: guest.errors },
    freeBytes: guest.habits.includes('full') ? gibibyte / 2 : 20 * gibibyte,
    updates: Object.fromEntries(updates),
  };
}
