// Test: boots the sealed digest on two fresh machines, compares them, stores the evidence, and only then
// makes the version available. What is tested is what ships (D8); canaries are always two (D11).
import * as z from 'zod';
import { ImagoError } from '../domain/errors.ts';
import { currentSchemaVersion } from '../domain/node-config/schema.ts';
import type { OperationKind, StepContext, WorkStep } from '../ports/operation.ts';
import type { Provider } from '../ports/provider.ts';
import type { Machine, MachineReport, Machines } from '../ports/provider-machines.ts';
import { callOptions, type OperationDeps, requireRole } from './deps.ts';
import { parseInput } from './parse-input.ts';
import { recordComposed } from './record-composed.ts';
import { resolved, resolveStep, resolveUsable } from './resolve-step.ts';
import { settle } from './settle.ts';
import { requireResult } from './step-result.ts';

const testInput = z.object({
  reference: z.string(),
  provider: z.string().optional(),
  /** What the machines are told to be; a config that asks for nothing when absent. */
  nodeConfig: z.string().optional(),
});
export type TestImageInput = z.infer<typeof testInput>;

const bootDeadlineMs = 15 * 60_000;
const plainConfig = JSON.stringify({ schemaVersion: currentSchemaVersion });

interface Check {
  readonly name: string;
  readonly passed: boolean;
  readonly detail: string;
}

interface CheckResult {
  readonly passed: boolean;
  readonly checks: readonly Check[];
  /** The slower of the two machines. */
  readonly measures: { readonly bootToReadyMs?: number };
  readonly agent?: string;
}

export function testImageOperation(deps: OperationDeps): OperationKind<TestImageInput> {
  return {
    kind: 'test',
    parse: (input) => parseInput(testInput, input),
    async plan({ reference, provider }) {
      const version = await resolveUsable(deps, reference);
      requireRole(deps.provider(provider), 'machines');
      return [
        `Boot ${version.image}:${version.version} (${version.digest}) on two fresh machines.`,
        'Run its checks and store the evidence.',
      ];
    },
    steps: () => [
      resolveStep<TestImageInput>(deps),
      bootStep(deps),
      checkStep(deps),
      cleanStep(deps),
      evidenceStep(deps),
      verdictStep(deps),
    ],
    result: (context) => {
      const { image, version, digest } = resolved(context);
      const { passed, checks } = requireResult<CheckResult>(context, 'check');
      return { image, version, digest, passed, checks: checks.map((check) => ({ ...check })) };
    },
  };
}

interface Canaries {
  readonly provider: Provider;
  readonly machines: Machines;
  readonly names: readonly string[];
  readonly options: ReturnType<typeof callOptions>;
}

function canaries(deps: OperationDeps, context: StepContext<TestImageInput>): Canaries {
  const provider = deps.provider(context.input.provider);
  const stem = `test-${deps.sha256(context.operation.id).slice(0, 12)}`;
  return {
    provider,
    machines: requireRole(provider, 'machines'),
    names: [`${stem}-a`, `${stem}-b`],
    options: callOptions(deps, context.signal),
  };
}

function bootStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'boot',
    async do(context) {
      const { machines, names, options } = canaries(deps, context);
      const { image, version, digest } = resolved(context);
      for (const name of names) {
        await machines.createMachine(
          {
            name,
            image,
            version,
            digest,
            size: 'small',
            firmware: 'direct',
            userData: configOf(context),
            tags: { operation: context.operation.id },
          },
          options,
        );
      }
      return { machines: [...names] };
    },
    async verify(context) {
      const { machines, names, options } = canaries(deps, context);
      const found = await Promise.all(names.map((name) => machines.getMachine(name, options)));
      return found.every((machine) => machine !== undefined) ? { machines: [...names] } : undefined;
    },
    async undo(context) {
      await removeCanaries(deps, context);
      return undefined;
    },
  };
}

function checkStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'check',
    async do(context) {
      const { provider, machines, names, options } = canaries(deps, context);
      const { digest } = resolved(context);
      const reports: MachineReport[] = [];
      for (const [index, name] of names.entries()) {
        context.progress(index, names.length, `waiting for machine ${name}`);
        reports.push(
          await settle(() => verdictOf(machines, name, options), {
            clock: provider.clock,
            signal: context.signal,
            deadlineMs: bootDeadlineMs,
            what: `Machine ${name}`,
          }),
        );
      }
      const records = await Promise.all(names.map((name) => machines.getMachine(name, options)));
      const ids = records.map((machine) => machine?.machineId ?? '');
      const checks: Check[] = [
        ...reports.map((report, index) => ({
          name: `machine ${index + 1} becomes ready`,
          passed: report.phase === 'ready',
          detail: report.facts.error ?? report.phase,
        })),
        {
          name: 'the two machines have ids of their own',
          passed: ids[0] !== ids[1] && !ids.includes(''),
          detail: ids.join(' '),
        },
        {
          name: 'both machines run the digest under test',
          passed: records.every((machine) => machine?.digest === digest),
          detail: digest,
        },
      ];
      const agent = reports[0]?.facts.agentVersion;
      return {
        passed: checks.every((check) => check.passed),
        checks: checks.map((check) => ({ ...check })),
        measures: measure(records, reports),
        ...(agent === undefined ? {} : { agent }),
      };
    },
  };
}

function configOf({ input }: StepContext<TestImageInput>): string {
  return input.nodeConfig ?? plainConfig;
}

/** By the provider's own clock. */
function measure(
  machines: readonly (Machine | undefined)[],
  reports: readonly MachineReport[],
): CheckResult['measures'] {
  const times = reports.flatMap((report, index) => {
    const machine = machines[index];
    return report.phase === 'ready' && machine !== undefined
      ? [Date.parse(report.at) - Date.parse(machine.createdAt)]
      : [];
  });
  return times.length === reports.length ? { bootToReadyMs: Math.max(...times) } : {};
}

/** What the machine says of itself, or its provider of a machine that never came to speak. */
async function verdictOf(
  machines: Machines,
  name: string,
  options: Canaries['options'],
): Promise<MachineReport | undefined> {
  const report = await machines.report(name, options);
  if (report?.phase === 'ready' || report?.phase === 'failed') return report;
  const machine = await machines.getMachine(name, options);
  if (machine?.state !== 'failed') return undefined;
  const error = machine.error?.message ?? 'the machine failed without a reason';
  return { phase: 'failed', at: machine.createdAt, facts: { error } };
}

function cleanStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'clean',
    async do(context) {
      await removeCanaries(deps, context);
      return undefined;
    },
  };
}

async function removeCanaries(deps: OperationDeps, context: StepContext<TestImageInput>): Promise<void> {
  const { provider, machines, names, options } = canaries(deps, context);
  for (const name of names) await machines.deleteMachine(name, options);
  for (const name of names) {
    await settle(async () => ((await machines.getMachine(name, options)) === undefined ? true : undefined), {
      clock: provider.clock,
      signal: context.signal,
      deadlineMs: bootDeadlineMs,
      what: `The removal of machine ${name}`,
    });
  }
}

function evidenceStep(deps: OperationDeps): WorkStep<TestImageInput> {
  return {
    name: 'evidence',
    async do(context) {
      const { digest } = resolved(context);
      const { passed, checks, measures, agent } = requireResult<CheckResult>(context, 'check');
      const nodeConfig = configOf(context);
      const composed = await recordComposed(deps, resolved(context), {
        ...(agent === undefined ? {} : { agent }),
        nodeConfig,
      });
      const good = checks.filter((check) => check.passed).length;
      const evidence = await deps.catalogue.addEvidence({
        digest,
        kind: 'test',
        passed,
        summary: `${good} of ${checks.length} checks passed`,
        details: { checks: checks.map((check) => ({ ...check })), measures: { ...measures } },
        composed,
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
      const { passed, checks } = requireResult<CheckResult>(context, 'check');
      if (!passed) {
        const failed = checks
          .filter((check) => !check.passed)
          .map((check) => `${check.name} (${check.detail})`);
        throw new ImagoError('test-failed', `${image}:${version} failed: ${failed.join('; ')}.`, {
          hint: `See the evidence with \`imago image show ${image}:${version}\`.`,
        });
      }
      const now = await deps.catalogue.getVersion(image, version);
      if (now?.state === 'candidate') {
        await deps.catalogue.setVersionState(image, version, 'available', { by: context.operation.by });
      }
      return undefined;
    },
  };
}
