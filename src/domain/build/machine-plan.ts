// What a build on a machine does, from its lock alone: the base, the inputs, and the steps with their keys. A key covers
// everything that happened on the disk up to there, so a snapshot with that key can be continued from.
import { ImagoError } from '../error/imago-error.ts';
import { componentInputs, type Lock, type LockedInput } from '../lock/lock.ts';
import type { Recipe, RecipeComponent, WindowsPatch } from '../recipe/recipe.ts';
import { expandOne } from '../recipe/variables.ts';
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { type WindowsTask, windowsSteps } from './windows-steps.ts';

export interface MachineStep {
  /** From 1 on. */
  readonly number: number;
  readonly name: string;
  /** Of its script. */
  readonly digest: string;
  /** Of the disk after it. */
  readonly key: string;
  /** The script itself, or the input that holds it. */
  readonly script: string | LockedInput;
  readonly restart: boolean;
  readonly timeoutMs: number;
  /** On Windows, what Imago itself does there. */
  readonly task?: WindowsTask;
  readonly patch?: WindowsPatch;
}

export interface BroughtInput {
  readonly input: LockedInput;
  /** Says where it is installed; an update is only brought. */
  readonly component?: RecipeComponent;
}

export interface MachinePlan {
  readonly os: Recipe['os'];
  readonly base: LockedInput;
  readonly inputs: readonly BroughtInput[];
  /** Of the disk before the first step. */
  readonly key: string;
  readonly steps: readonly MachineStep[];
}

const defaultStepMs = 30 * 60_000;
/** Raised when the same steps leave another disk. */
const machineRules = 1;

export function baseOf(lock: Pick<Lock, 'inputs'>): LockedInput | undefined {
  return lock.inputs.find(({ kind }) => kind === 'base');
}

/** Throws `lock-stale` if the lock has no base: it was made where the base is not known. */
export function planMachine(lock: Lock, sha256: (text: string) => string): MachinePlan {
  const recipe = expandOne(lock.recipe);
  const base = baseOf(lock);
  if (base === undefined) {
    throw new ImagoError('lock-stale', `The lock of ${recipe.name} has no base version.`, {
      hint: `Import the disk as ${recipe.base?.image} with \`imago image import\`, and lock the recipe again.`,
    });
  }
  const inputs: BroughtInput[] = recipe.components.flatMap((component) =>
    componentInputs(component, lock.inputs).flatMap(({ input }) => (input ? [{ input, component }] : [])),
  );
  inputs.push(...lock.inputs.flatMap((input) => (input.kind === 'patch' ? [{ input }] : [])));
  const hash = (value: Json) => sha256(canonicalJson(value));
  const key = hash([
    ...[machineRules, recipe.os, base.sha256, recipe.disk?.sizeBytes ?? null],
    inputs.map(({ input, component }) => [input.sha256, component?.to ?? '', component?.mode ?? '']),
  ]);
  const steps: MachineStep[] = [];
  for (const { text, ...step } of plannedSteps(recipe, lock.inputs)) {
    const script = text ?? scriptOf(step, lock);
    const digest = typeof script === 'string' ? sha256(script) : script.sha256;
    steps.push({
      ...{ ...step, number: steps.length + 1, digest, script },
      key: hash([steps.at(-1)?.key ?? key, digest, step.restart]),
    });
  }
  return { os: recipe.os, base, inputs, key, steps };
}

interface PlannedStep extends Pick<MachineStep, 'name' | 'restart' | 'timeoutMs' | 'task' | 'patch'> {
  /** The script; absent if an input of the lock holds it. */
  readonly text?: string;
  readonly file?: string | undefined;
}

/** How many there are, and how long each may take, follows from the recipe alone. */
export function plannedSteps(
  recipe: Pick<Recipe, 'os' | 'name' | 'components' | 'windows' | 'steps'>,
  inputs: readonly LockedInput[] = [],
): readonly PlannedStep[] {
  const own = (recipe.steps ?? []).map(({ name, run, file, restart, timeoutMs = defaultStepMs }) => ({
    ...{ name, file, timeoutMs, restart: restart === true },
    ...(run !== undefined && { text: run }),
  }));
  if (recipe.os !== 'windows') return own;
  const { before, after } = windowsSteps(recipe, inputs);
  const planned = (step: (typeof before)[number]): PlannedStep => {
    const { script: text, ...rest } = step;
    return { ...rest, text, restart: false };
  };
  return [...before.map(planned), ...own, ...after.map(planned)];
}

function scriptOf({ name, file }: Pick<PlannedStep, 'name' | 'file'>, lock: Lock): LockedInput {
  const found = lock.inputs.find((input) => input.kind === 'config' && input.name === file);
  if (found !== undefined) return found;
  throw new ImagoError('lock-stale', `The lock does not have ${file}, the script of step ${name}.`);
}

/** The name of the snapshot that holds the disk with this key. */
export function snapshotOf(key: string): string {
  return `step-${key.slice(0, 32)}`;
}
