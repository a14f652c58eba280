// Progress of a build as one bar: every step is as long as it took the last time, so that what is left is known.
// What the steps print is kept in one file each. Private inputs go by their alias in all of it.
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Lock } from '../domain/lock/lock.ts';
import { formatBytes } from '../domain/value/bytes.ts';
import { formatDuration } from '../domain/value/duration.ts';
import { type PrivateInput, privateInputs } from '../inventory/model/redact.ts';
import type { BuildProgress } from '../ports/provider/builder.ts';
import type { BuildContext } from './builder-context.ts';
import { planLayers } from './layers/plan.ts';
import { createRedactor } from './redactor.ts';
import { expectSteps, readHistory, writeHistory } from './step-times.ts';

export interface StepReport extends BuildReport {
  /** Of the steps that were made, in the order in which they ended. */
  timings(): readonly { readonly step: string; readonly ms: number }[];
  /** Ends the logs and remembers how long things took. */
  close(): Promise<void>;
}

const keptLogs = 50;

export async function stepReport(
  context: BuildContext,
  lock: Lock,
  lockDigest: string,
  open: BuildProgress,
): Promise<StepReport> {
  const words = createRedactor(lock);
  const progress = words.progress(open);
  const history = await readHistory(context);
  const logFolder = join(context.cacheFolder, 'logs', lockDigest.replace(':', '-'));
  await mkdir(logFolder, { recursive: true });
  await dropOldLogs(join(context.cacheFolder, 'logs'));
  const steps = await expectSteps(context, planLayers(lock), history);
  const expected = new Map([...steps].map(([name, { ms }]) => [name, ms]));
  const total = [...expected.values()].reduce((sum, ms) => sum + ms, 0);
  const begun = new Map<string, number>();
  const took = new Map<string, number>();
  const shares = new Map<string, number>();
  const sizes = new Map<string, string>();
  const logs = new Map<string, WriteStream>();

  function tell(sentence: string): void {
    let done = 0;
    for (const [name, ms] of expected) {
      done += took.has(name) ? ms : Math.min(0.95, shares.get(name) ?? elapsedShare(name, ms)) * ms;
    }
    const left = Math.max(0, total - done);
    progress.progress(
      Math.round(done),
      Math.round(total),
      `${sentence} (about ${formatDuration(left)} left)`,
    );
  }

  function elapsedShare(name: string, ms: number): number {
    const start = begun.get(name);
    return start === undefined ? 0 : (performance.now() - start) / Math.max(1, ms);
  }

  const timer = setInterval(() => {
    const current = [...begun.keys()].filter((name) => !took.has(name));
    if (current.length > 0) tell(sentenceOfAll(current, sizes));
  }, 1000);
  timer.unref();

  return {
    begin(step) {
      begun.set(step, performance.now());
      tell(sentenceOf(step));
    },
    end(step, reused = false) {
      took.set(step, reused ? Number.NaN : performance.now() - (begun.get(step) ?? performance.now()));
      progress.log(`${step}: ${reused ? 'reused' : `done in ${formatDuration(took.get(step) ?? 0)}`}`);
      tell(`${step} is ${reused ? 'reused' : 'done'}`);
    },
    bytes(step, bytes, size) {
      shares.set(step, size === 0 ? 0 : bytes / size);
      sizes.set(step, `${formatBytes(bytes)} of ${formatBytes(size)}`);
      if (bytes === size) tell(`${sentenceOf(step)}: ${formatBytes(bytes)}`);
    },
    log(step, line) {
      const file =
        logs.get(step) ??
        createWriteStream(join(logFolder, `${words.hide(step).replace(/[^a-z0-9.-]/gi, '_')}.log`));
      logs.set(step, file);
      file.write(`${words.hide(line)}\n`);
      progress.log(`${step}: ${line}`);
    },
    timings() {
      const secrets = privateInputs(lock);
      return madeSteps(took).map(([step, ms]) => ({ step: publicStep(step, secrets), ms }));
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...logs.values()].map((file) => new Promise((done) => file.end(done))));
      await writeHistory(context, history, Object.fromEntries(madeSteps(took)));
    },
  };
}

/** The steps that were not reused, in whole milliseconds. */
function madeSteps(took: ReadonlyMap<string, number>): [string, number][] {
  return [...took].filter(([, ms]) => Number.isFinite(ms)).map(([name, ms]) => [name, Math.round(ms)]);
}

/** Steps are named after what they put on the disk: `component NAME`, `packages NAME, NAME`. */
export function publicStep(step: string, secrets: readonly PrivateInput[]): string {
  const [, kind, list] = /^(component|packages) (.+)$/.exec(step) ?? [];
  if (kind === undefined || list === undefined) return step;
  const aliases = list
    .split(', ')
    .map((name) => secrets.find(({ names }) => names.includes(name))?.alias ?? name);
  return `${kind} ${aliases.join(', ')}`;
}

function sentenceOf(step: string): string {
  if (step === 'inputs') return 'fetching inputs';
  if (step === 'disk') return 'assembling the disk';
  return step === 'seal' ? 'sealing the disk' : `building ${step}`;
}

/** Describes the steps in progress, with their bytes if these are counted. */
function sentenceOfAll(steps: readonly string[], sizes: ReadonlyMap<string, string>): string {
  const told = steps.map((step) => {
    const size = sizes.get(step);
    return size === undefined ? sentenceOf(step) : `${sentenceOf(step)}: ${size}`;
  });
  return told.join(', ').replaceAll(', building ', ', ');
}

async function dropOldLogs(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  if (names.length <= keptLogs) return;
  const aged = await Promise.all(
    names.map(async (name) => ({
      name,
      at: (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  const old = aged.sort((a, b) => b.at - a.at).slice(keptLogs);
  for (const { name } of old) await rm(join(folder, name), { recursive: true, force: true });
}

export interface BuildReport {
  begin(step: string): void;
  /** `reused` when nothing had to be done. */
  end(step: string, reused?: boolean): void;
  bytes(step: string, bytes: number, total: number): void;
  log(step: string, line: string): void;
}

export const noReport: BuildReport = {
  begin() {},
  end() {},
  bytes() {},
  log() {},
};
