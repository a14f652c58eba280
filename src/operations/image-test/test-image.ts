// Test: starts the sealed digest on fresh machines, two at once and by every firmware, runs the built-in checks and
// the recipe's own, restarts one, stores the evidence, and only then makes the version available. What is tested is
// what ships (D8); canaries are always two (D11).
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CheckResult } from '../../domain/image-test/image-check.ts';
import { agentAbilities } from '../../domain/node-config/capabilities.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { type OperationDeps, refuseMixing, requireRole, simulatedBy } from '../common/deps.ts';
import { resolved, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { readStoredConfig } from '../node-config/text.ts';
import { type Answers, checkDisk, checkPair, checkRestart, toCompare } from './checks.ts';
import {
  type BootOutcome,
  firmwares,
  firstTwo,
  removeMachines,
  restartMachine,
  startMachine,
  testBench,
} from './machines.ts';
import { recordComposed } from './record-tested-combination.ts';
import { configOf, examine, examineAll, examineRecords, machineConfig } from './run-machine-checks.ts';
import { testSubject } from './subject.ts';

const testInput = z.object({
  reference: z.string(),
  provider: z.string().optional(),
  /** What the machines are told to be; one that asks for all that the image has when absent. */
  nodeConfig: z.string().optional(),
  firmware: z.array(z.enum(firmwares)).min(1).optional(),
  /** Leaves the machines of a failed test running, for a look. */
  keepOnFailure: z.boolean().optional(),
});
export type TestImageInput = z.infer<typeof testInput>;

/** How long the machines of a failed test are left, when that was asked for. */
export const keptForMs = 4 * 3_600_000;

interface Checked {
  readonly results: readonly CheckResult[];
  /** The slowest machine. */
  readonly bootToReadyMs?: number;
  readonly agent?: string;
  /** Of the first machine: what a restart is compared with. */
  readonly before: Readonly<Record<string, { readonly exitCode: number; readonly output: string }>>;
  readonly bootId?: string;
}

/** An operation is recorded with its input, so that a config in it names secrets instead of holding them. */
function parseTest(input: Json): TestImageInput {
  const parsed = parseInput(testInput, input);
  if (parsed.nodeConfig !== undefined) readStoredConfig(parsed.nodeConfig);
  return parsed;
}

export function testImageOperation(deps: OperationDeps): OperationKind<TestImageInput> {
  return {
    kind: 'test',
    parse: parseTest,
    async plan({ reference, provider: name, firmware }) {
      const version = await resolveUsable(deps, reference);
      const provider = deps.provider(name);
      requireRole(provider, 'machines');
      refuseMixing(provider, version);
      const what = `${version.image}:${version.version} (${version.digest})`;
      return [testSentence(provider, what, firmware), 'Run its checks and store the evidence.'];
    },
    steps: () => [
      resolveStep<TestImageInput>(deps),
      bootStep(deps),
      diskStep(deps),
      checkStep(deps),
      restartStep(deps),
      cleanStep(deps),
      evidenceStep(deps),
      verdictStep(deps),
    ],
    result: (context) => {
      const { image, version, digest } = resolved(context);
      const checks = allResults(context);
      return {
        image,
        version,
        digest,
        passed: hasPassed(checks),
        checks: checks.map((check) => ({ ...check })),
      };
    },
  };
}

/** What a dry run says of the machines. */
export function testSentence(
  { abilities }: Provider,
  what: string,
  firmware: TestImageInput['firmware'] = undefined,
): string {
  const kinds = firmware ?? (abilities.simulated ? ['direct' as const] : firmwares);
  return `Start ${what} on fresh machines, two at once, by ${kinds.join(', ')}.`;
}

function bootStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'boot',
    async do(context) {
      const bench = testBench(deps, context);
      refuseMixing(bench.provider, resolved(context));
      const config = await machineConfig(deps, context, await testSubject(deps, resolved(context)));
      for (const machine of firstTwo(bench)) await startMachine(bench, machine, context, config);
      return { machines: firstTwo(bench).map(({ name }) => name) };
    },
    async verify(context) {
      const bench = testBench(deps, context);
      const names = firstTwo(bench).map(({ name }) => name);
      const found = await Promise.all(names.map((name) => bench.machines.getMachine(name, bench.options)));
      return found.every((machine) => machine !== undefined) ? { machines: names } : undefined;
    },
    undo: (context) => undoMachines(deps, context),
  };
}

/** While the machines start. */
function diskStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'disk',
    async do(context) {
      const subject = await testSubject(deps, resolved(context));
      return { results: toJson(checkDisk(subject, testBench(deps, context).provider.abilities.simulated)) };
    },
  };
}

function checkStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'check',
    async do(context) {
      const bench = testBench(deps, context);
      const subject = await testSubject(deps, resolved(context));
      const results: CheckResult[] = await examineRecords(bench, context);
      const both = await examineAll(
        context,
        firstTwo(bench).map((machine) => [machine, () => examine(deps, context, bench, subject, machine)]),
      );
      results.push(...both.flatMap((seen) => seen.results));
      const [one, other] = both;
      if (one !== undefined && other !== undefined && !bench.provider.abilities.simulated)
        results.push(...checkPair(other.facts, one.answers, other.answers));
      return checked(
        results,
        both.map(({ outcome }) => outcome),
        one?.answers ?? new Map(),
      );
    },
  };
}

/** The first machine is started again; whatever firmware is left is tried by machines of their own meanwhile. */
function restartStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'restart',
    async do(context) {
      const bench = testBench(deps, context);
      const [first, , ...others] = bench.all;
      if (bench.provider.abilities.simulated || first === undefined) return { results: [] };
      const { before, bootId, results: earlier } = requireResult<Checked>(context, 'check');
      if (earlier.some(({ id, state }) => id === 'machine-ready' && state === 'failed'))
        return { results: [] };
      const subject = await testSubject(deps, resolved(context));
      context.progress(0, 1 + others.length, `restarting machine ${first.name}`);
      const last = await restartMachine(bench, first.name);
      const config = await machineConfig(deps, context, subject);
      for (const machine of others) await startMachine(bench, machine, context, config);
      const seen = await examineAll(context, [
        [first, () => examine(deps, context, bench, subject, first, bootId)],
        ...others.map((machine) => [machine, () => examine(deps, context, bench, subject, machine)] as const),
      ]);
      const [again] = seen;
      const compared =
        again === undefined
          ? []
          : checkRestart(again.facts, new Map(Object.entries(before)), again.answers, last);
      return { results: toJson([...seen.flatMap(({ results }) => results), ...compared]) };
    },
    undo: (context) => undoMachines(deps, context),
  };
}

/** A test that came to its end and failed may leave its machines; one that was stopped leaves nothing. */
async function undoMachines(
  deps: OperationDeps,
  context: StepContext<TestImageInput>,
): Promise<'kept' | undefined> {
  if (context.result<Json & { readonly kept?: Json }>('clean')?.kept !== undefined) return 'kept';
  await removeMachines(testBench(deps, context));
  return undefined;
}

function cleanStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'clean',
    async do(context) {
      const bench = testBench(deps, context);
      if (context.input.keepOnFailure === true && !hasPassed(allResults(context))) {
        const kept = bench.all.map(({ name }) => name);
        context.log(
          `Kept for a look, and for four hours: ${kept.join(', ')}. See \`imago node shell NAME\`.`,
        );
        return { kept };
      }
      await removeMachines(bench);
      return undefined;
    },
  };
}

/** What the agent on the disk says that it can do. A simulated one is this Imago's own. */
async function offersOf(
  deps: OperationDeps,
  context: StepContext<TestImageInput>,
): Promise<Json | undefined> {
  const { disk } = await testSubject(deps, resolved(context));
  if (disk?.agent !== undefined) return disk.agent as unknown as Json;
  if (!testBench(deps, context).provider.abilities.simulated) return undefined;
  return { abilities: agentAbilities().abilities, components: {} };
}

function evidenceStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'evidence',
    async do(context) {
      const { digest } = resolved(context);
      const { bootToReadyMs, agent } = requireResult<Checked>(context, 'check');
      const checks = allResults(context);
      await noteMeasures(deps, digest, bootToReadyMs);
      const composed = await recordComposed(deps, resolved(context), {
        ...(agent === undefined ? {} : { agent }),
        nodeConfig: configOf(context, await testSubject(deps, resolved(context))),
      });
      const evidence = await deps.catalogue.addEvidence({
        digest,
        kind: 'test',
        passed: hasPassed(checks),
        summary: summary(checks),
        details: {
          checks: toJson(checks),
          measures: bootToReadyMs === undefined ? {} : { bootToReadyMs },
          offers: await offersOf(deps, context),
          ...((await leftOut(deps, context)).length === 0 ? {} : { partial: true }),
        },
        composed,
        ...simulatedBy(deps, context.input.provider),
        by: context.operation.by,
        operation: context.operation.id,
      });
      return { evidence: evidence.id };
    },
    async verify(context) {
      const all = await deps.catalogue.listEvidence(resolved(context).digest);
      const mine = all.find((evidence) => evidence.operation === context.operation.id);
      return mine && { evidence: mine.id };
    },
  };
}

function verdictStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'verdict',
    async do(context) {
      const { image, version } = resolved(context);
      const checks = allResults(context);
      if (!hasPassed(checks)) throw testFailed(`${image}:${version}`, checks);
      const missing = await leftOut(deps, context);
      if (missing.length > 0) {
        context.log(
          `${image}:${version} was not tested with ${missing.join(' and ')}: its state does not change.`,
        );
        return undefined;
      }
      const now = await deps.catalogue.getVersion(image, version);
      if (now?.state === 'candidate') {
        await deps.catalogue.setVersionState(image, version, 'available', { by: context.operation.by });
      }
      return undefined;
    },
  };
}

/** The kinds of firmware that the image declares and the run was told to leave out. */
async function leftOut(
  deps: OperationDeps,
  context: StepContext<TestImageInput>,
): Promise<readonly string[]> {
  const ran: readonly string[] | undefined = context.input.firmware;
  if (ran === undefined) return [];
  const { firmware } = await testSubject(deps, resolved(context));
  return firmware.filter((kind) => !ran.includes(kind));
}

const mostFailures = 10;

function testFailed(version: string, checks: readonly CheckResult[]): ImagoError {
  const failed = checks.filter(({ state }) => state === 'failed');
  const named = failed
    .slice(0, mostFailures)
    .map(({ title, on, detail }) => `not so on ${on}: ${title} (${detail})`);
  const rest = failed.length - named.length;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return new ImagoError('test-failed', `${version} failed: ${[...named, ...more].join('; ')}.`, {
    hint: `See the evidence with \`imago image show ${version}\`.`,
  });
}

function checked(results: readonly CheckResult[], outcomes: readonly BootOutcome[], first: Answers): Json {
  const times = outcomes.flatMap(({ readyAfterMs }) => (readyAfterMs === undefined ? [] : [readyAfterMs]));
  const report = outcomes[0]?.report;
  return {
    results: toJson(results),
    before: toCompare(first),
    ...(times.length === outcomes.length ? { bootToReadyMs: Math.max(...times) } : {}),
    ...(report === undefined ? {} : { agent: report.agentVersion, bootId: report.bootId }),
  };
}

function allResults(context: StepContext<TestImageInput>): readonly CheckResult[] {
  return ['disk', 'check', 'restart'].flatMap(
    (step) => context.result<Json & Pick<Checked, 'results'>>(step)?.results ?? [],
  );
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

function toJson(results: readonly CheckResult[]): Json[] {
  return results.map((result) => ({ ...result }));
}

/**
 * Adds what a test measured to the version's notes. Has no effect for a version that is not in the store or was not
 * measured, and on a second call.
 */
export async function noteMeasures(
  { images }: Pick<OperationDeps, 'images'>,
  digest: string,
  bootToReadyMs: number | undefined,
): Promise<void> {
  if (images === undefined || bootToReadyMs === undefined) return;
  if ((await images.find(digest)) === undefined) return;
  await images.records.measured(digest, { bootToReadyMs });
}
