// Tests a version: starts the sealed digest on fresh machines, two concurrently and by every firmware, runs the built-in
// checks and the recipe's own, restarts one, stores the evidence, and only then makes the version available. What is
// tested is what ships (D8); there are always two canaries (D11).
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CheckResult } from '../../domain/image-test/image-check.ts';
import * as declared from '../../domain/image-test/operations.ts';
import { agentAbilities } from '../../domain/node-config/capabilities.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { type OperationDeps, refuseMixing, requireRole, simulatedBy } from '../common/deps.ts';
import { operation, type Run } from '../common/operation.ts';
import { resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { type Answers, checkDisk, checkPair, checkRestart, toCompare } from './checks.ts';
import {
  type BootOutcome,
  firstTwo,
  removeMachines,
  restartMachine,
  startMachine,
  testBench,
} from './machines.ts';
import { recordComposed } from './record-tested-combination.ts';
import {
  configOf,
  examine,
  examineAll,
  examineRecords,
  machineConfig,
  type TestedWith,
} from './run-machine-checks.ts';
import { testSubject } from './subject.ts';

/** How long the machines of a failed test are kept, if that was requested. */
export const keptForMs = 4 * 3_600_000;

interface Checked {
  readonly results: readonly CheckResult[];
  /** The slowest machine. */
  readonly bootToReadyMs?: number;
  readonly agent?: string;
  /** What a restart of the first machine is compared with. */
  readonly before: Readonly<Record<string, { readonly exitCode: number; readonly output: string }>>;
  readonly bootId?: string;
}

interface Results {
  readonly resolve: Resolution;
  readonly disk: { readonly results: readonly CheckResult[] };
  readonly check: Checked;
  readonly restart: { readonly results: readonly CheckResult[] };
  readonly clean: { readonly kept?: readonly string[] };
}

export const imageTest = operation(declared.imageTest, {
  async plan(run) {
    const { reference, provider: name, firmware } = run.input;
    const version = await resolveUsable(run, reference);
    const provider = run.provider(name);
    requireRole(provider, 'machines');
    refuseMixing(provider, version);
    const what = `${version.image}:${version.version} (${version.digest})`;
    return [testSentence(provider, what, firmware), 'Run its checks and store the evidence.'];
  },
})
  .use(resolveStep)
  .step('boot', {
    async do(run) {
      const bench = testBench(run);
      refuseMixing(bench.provider, run.result('resolve'));
      const config = await machineConfig(run, await subjectOf(run));
      for (const machine of firstTwo(bench)) await startMachine(run, bench, machine, config);
      return { machines: firstTwo(bench).map(({ name }) => name) };
    },
    async verify(run) {
      const bench = testBench(run);
      const machines = firstTwo(bench).map(({ name }) => name);
      const found = await Promise.all(machines.map((name) => bench.machines.getMachine(name, run.call)));
      return found.every((machine) => machine !== undefined) ? { machines } : undefined;
    },
    undo: undoMachines,
  })
  // While the machines start.
  .step('disk', async (run) => ({
    results: checkDisk(await subjectOf(run), testBench(run).provider.abilities.simulated),
  }))
  .step('check', async (run) => {
    const bench = testBench(run);
    const subject = await subjectOf(run);
    const results: CheckResult[] = await examineRecords(bench, run.result('resolve').digest);
    const both = await examineAll(
      run,
      firstTwo(bench).map((machine) => [machine, () => examine(run, bench, subject, machine)]),
    );
    results.push(...both.flatMap((seen) => seen.results));
    const [one, other] = both;
    if (one !== undefined && other !== undefined && !bench.provider.abilities.simulated)
      results.push(...checkPair(other.facts, one.answers, other.answers));
    const outcomes = both.map(({ outcome }) => outcome);
    return checked(results, outcomes, one?.answers ?? new Map());
  })
  // The first machine is restarted; separate machines try the remaining firmware concurrently.
  .step('restart', {
    async do(run): Promise<Results['restart']> {
      const bench = testBench(run);
      const [first, , ...others] = bench.all;
      if (bench.provider.abilities.simulated || first === undefined) return { results: [] };
      const { before, bootId, results: earlier } = run.result('check');
      if (earlier.some(({ id, state }) => id === 'machine-ready' && state === 'failed'))
        return { results: [] };
      const subject = await subjectOf(run);
      run.progress(0, 1 + others.length, `restarting machine ${first.name}`);
      const last = await restartMachine(bench, first.name);
      const config = await machineConfig(run, subject);
      for (const machine of others) await startMachine(run, bench, machine, config);
      const seen = await examineAll(run, [
        [first, () => examine(run, bench, subject, first, bootId)],
        ...others.map((machine) => [machine, () => examine(run, bench, subject, machine)] as const),
      ]);
      const [again] = seen;
      const compared = again
        ? checkRestart(again.facts, new Map(Object.entries(before)), again.answers, last)
        : [];
      return { results: [...seen.flatMap(({ results }) => results), ...compared] };
    },
    undo: undoMachines,
  })
  .step('clean', async (run): Promise<Results['clean']> => {
    const bench = testBench(run);
    if (run.input.keepOnFailure !== true || hasPassed(allResults(run))) {
      await removeMachines(bench);
      return {};
    }
    const kept = bench.all.map(({ name }) => name);
    run.log(`Kept for debugging, for four hours: ${kept.join(', ')}. See \`imago node shell NAME\`.`);
    return { kept };
  })
  .step('evidence', {
    async do(run) {
      const { digest } = run.result('resolve');
      const { bootToReadyMs, agent } = run.result('check');
      const checks = allResults(run);
      await noteMeasures(run, digest, bootToReadyMs);
      const composed = await recordComposed(run, run.result('resolve'), {
        ...(agent !== undefined && { agent }),
        nodeConfig: configOf(run.input, await subjectOf(run)),
      });
      const evidence = await run.catalogue.addEvidence({
        ...{ digest, kind: 'test', passed: hasPassed(checks), summary: summary(checks), composed },
        details: {
          checks: checks.map((check) => ({ ...check })),
          measures: bootToReadyMs === undefined ? {} : { bootToReadyMs },
          offers: await offersOf(run),
          ...((await leftOut(run)).length > 0 && { partial: true }),
        },
        ...simulatedBy(run, run.input.provider),
        ...{ by: run.operation.by, operation: run.operation.id },
      });
      return { evidence: evidence.id };
    },
    async verify(run) {
      const all = await run.catalogue.listEvidence(run.result('resolve').digest);
      const mine = all.find((evidence) => evidence.operation === run.operation.id);
      return mine && { evidence: mine.id };
    },
  })
  .step('verdict', async (run) => {
    const { image, version } = run.result('resolve');
    const checks = allResults(run);
    if (!hasPassed(checks)) throw testFailed(`${image}:${version}`, checks);
    const missing = await leftOut(run);
    if (missing.length > 0) {
      run.log(`${image}:${version} was not tested with ${missing.join(' and ')}: its state does not change.`);
      return;
    }
    const now = await run.catalogue.getVersion(image, version);
    if (now?.state !== 'candidate') return;
    await run.catalogue.setVersionState(image, version, 'available', { by: run.operation.by });
  })
  .result((run) => {
    const { image, version, digest } = run.result('resolve');
    const checks = allResults(run);
    return { image, version, digest, passed: hasPassed(checks), checks };
  });

/** What a plan shows of the machines. */
export function testSentence(
  { abilities }: Provider,
  what: string,
  firmware: TestedWith['firmware'] = undefined,
): string {
  const kinds = firmware ?? (abilities.simulated ? ['direct' as const] : declared.firmwares);
  return `Start ${what} on fresh machines, two concurrently, by ${kinds.join(', ')}.`;
}

type TestRun = Run<TestedWith, Pick<Results, 'resolve'>>;

function subjectOf(run: TestRun) {
  return testSubject(run, run.result('resolve'));
}

/** A test that ended and failed may keep its machines; one that was stopped keeps none. */
async function undoMachines(run: TestRun): Promise<'kept' | undefined> {
  if ((run as Run<TestedWith, Results>).maybe('clean')?.kept !== undefined) return 'kept';
  await removeMachines(testBench(run));
  return undefined;
}

/** Records what the test measured in the version's notes. Without a local disk, or a second time, it adds nothing. */
export async function noteMeasures(
  { images }: Pick<OperationDeps, 'images'>,
  digest: string,
  bootToReadyMs: number | undefined,
): Promise<void> {
  if (images === undefined || bootToReadyMs === undefined) return;
  if ((await images.find(digest)) === undefined) return;
  await images.records.measured(digest, { bootToReadyMs });
}

/** The capabilities of the agent on the disk. A simulated one is this Imago's own. */
async function offersOf(run: TestRun): Promise<Json | undefined> {
  const { disk } = await subjectOf(run);
  if (disk?.agent !== undefined) return { ...disk.agent } as Json;
  if (!testBench(run).provider.abilities.simulated) return undefined;
  return { abilities: agentAbilities().abilities, components: {} };
}

/** The kinds of firmware that the image declares and the input excludes. */
async function leftOut(run: TestRun): Promise<readonly string[]> {
  const ran: readonly string[] | undefined = run.input.firmware;
  if (ran === undefined) return [];
  const { firmware } = await subjectOf(run);
  return firmware.filter((kind) => !ran.includes(kind));
}

const maxFailures = 10;

function testFailed(version: string, checks: readonly CheckResult[]): ImagoError {
  const failed = checks.filter(({ state }) => state === 'failed');
  const named = failed
    .slice(0, maxFailures)
    .map(({ title, on, detail }) => `on ${on}, it does not hold that ${title} (${detail})`);
  const rest = failed.length - named.length;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return new ImagoError('test-failed', `${version} failed: ${[...named, ...more].join('; ')}.`, {
    hint: `See the evidence with \`imago image show ${version}\`.`,
  });
}

function checked(results: readonly CheckResult[], outcomes: readonly BootOutcome[], first: Answers): Checked {
  const times = outcomes.flatMap(({ readyAfterMs }) => (readyAfterMs === undefined ? [] : [readyAfterMs]));
  const report = outcomes[0]?.report;
  return {
    results,
    before: toCompare(first),
    ...(times.length === outcomes.length && { bootToReadyMs: Math.max(...times) }),
    ...(report && { agent: report.agentVersion, bootId: report.bootId }),
  };
}

function allResults(run: Pick<Run<unknown, Results>, 'maybe'>): readonly CheckResult[] {
  return (['disk', 'check', 'restart'] as const).flatMap((step) => run.maybe(step)?.results ?? []);
}

function hasPassed(checks: readonly CheckResult[]): boolean {
  return checks.length > 0 && checks.every(({ state }) => state !== 'failed');
}

function summary(checks: readonly CheckResult[]): string {
  const count = (state: CheckResult['state']) => checks.filter((check) => check.state === state).length;
  const ran = checks.length - count('not-run');
  const left = count('not-run') === 0 ? '' : `, ${count('not-run')} not run`;
  return `${count('passed')} of ${ran} checks passed${left}`;
}
