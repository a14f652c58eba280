// How long each step of a build will take, from how long it took the last time: for the bar, and for telling it
// beforehand.

import type { BuildContext } from './builder-context.ts';
import { readRecord, recordPath, writeRecord } from './content/records.ts';
import type { PlannedLayer } from './layers/plan.ts';

/** Milliseconds on a small machine, for a first build. */
const firstGuess: Readonly<Record<string, number>> = {
  inputs: 10_000,
  base: 25_000,
  packages: 10_000,
  component: 1500,
  images: 3000,
  configuration: 1000,
  disk: 6000,
  seal: 5000,
};
const reusedMs = 500;

/** Milliseconds by the name of the step. */
export type StepHistory = Readonly<Record<string, number>>;

export interface ExpectedStep {
  readonly ms: number;
  /** `guess` when no such step was made here before. */
  readonly by: 'cache' | 'history' | 'guess';
}

/** The steps of a build, in their order: inputs, layers, disk, seal. */
export async function expectSteps(
  context: Pick<BuildContext, 'layers'>,
  plan: readonly PlannedLayer[],
  history: StepHistory,
): Promise<ReadonlyMap<string, ExpectedStep>> {
  const make = (name: string, kind: string): ExpectedStep => {
    const ms = history[name];
    return ms === undefined ? { ms: firstGuess[kind] ?? 1000, by: 'guess' } : { ms, by: 'history' };
  };
  const steps = new Map([['inputs', make('inputs', 'inputs')]]);
  for (const { name, kind, key } of plan) {
    const cached = (await context.layers.find(key)) !== undefined;
    steps.set(name, cached ? { ms: reusedMs, by: 'cache' } : make(name, kind));
  }
  for (const name of ['disk', 'seal']) steps.set(name, make(name, name));
  return steps;
}

type Place = Pick<BuildContext, 'cacheFolder'>;

function historyPath({ cacheFolder }: Place): string {
  return recordPath(cacheFolder, 'history', 'steps.json');
}

/** Returns an empty history if nothing was built here, or the record is damaged. */
export async function readHistory(context: Place): Promise<StepHistory> {
  return ((await readRecord<StepHistory>(historyPath(context))) ?? {}) as StepHistory;
}

export async function writeHistory(context: Place, before: StepHistory, fresh: StepHistory): Promise<void> {
  if (Object.keys(fresh).length === 0) return;
  await writeRecord(context.cacheFolder, historyPath(context), JSON.stringify({ ...before, ...fresh }));
}
