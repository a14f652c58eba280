// Examines the machines of a test concurrently: what their provider reports about them, and what they respond.
import type { CheckResult, MachineFacts } from '../../domain/image-test/image-check.ts';
import { secretTexts, testConfig } from '../../domain/image-test/test-config.ts';
import { readStoredConfig } from '../../domain/node-config/stored-config.ts';
import type { Run } from '../common/operation.ts';
import { renderText } from '../node-config/text.ts';
import { type Answers, checkMachine, checkReady, checkRecords, checkReport, probesFor } from './checks.ts';
import {
  askMachine,
  type BootOutcome,
  bootOutcome,
  firstTwo,
  type TestBench,
  type TestMachine,
  type TestTarget,
} from './machines.ts';
import type { TestSubject } from './subject.ts';

/** For images whose recipe has no budget. */
const defaultBootDeadlineMs = 10 * 60_000;

/** What a test is asked for that its machines must know. */
export interface TestedWith extends TestTarget {
  readonly nodeConfig?: string | undefined;
}

/** Returns the config of a test as it is recorded. The secrets of one that a user gave are named in it. */
export function configOf(input: Pick<TestedWith, 'nodeConfig'>, { disk }: TestSubject): string {
  return input.nodeConfig ?? testConfig(disk);
}

/** Returns what the machines read: the same text for all of a test. Contains secrets. */
export async function machineConfig(run: Run<TestedWith>, subject: TestSubject): Promise<string> {
  const { nodeConfig } = run.input;
  if (nodeConfig === undefined) return configOf(run.input, subject);
  return renderText(run, readStoredConfig(nodeConfig), {});
}

/** What the provider itself reports about the machines. */
export async function examineRecords(bench: TestBench, digest: string): Promise<CheckResult[]> {
  const names = firstTwo(bench).map(({ name }) => name);
  const records = await Promise.all(names.map((name) => bench.machines.getMachine(name, bench.options)));
  return checkRecords(
    records.map((record) => record ?? {}),
    digest,
  );
}

export interface Examined {
  readonly results: readonly CheckResult[];
  readonly answers: Answers;
  readonly outcome: BootOutcome;
  readonly facts: MachineFacts;
}

/** Waits for one machine and runs everything that concerns it alone. */
export async function examine(
  run: Run<TestedWith>,
  bench: TestBench,
  subject: TestSubject,
  { name }: TestMachine,
  notBoot?: string,
): Promise<Examined> {
  const deadlineMs = subject.budgets.bootToReadyMs ?? defaultBootDeadlineMs;
  const outcome = await bootOutcome(bench, name, deadlineMs, notBoot);
  const { simulated } = bench.provider.abilities;
  const config = await machineConfig(run, subject);
  const known: MachineFacts = {
    name,
    disk: subject.disk,
    report: outcome.report,
    budgets: subject.budgets,
    now: Date.now(),
    readyAfterMs: outcome.readyAfterMs,
    configDigest: simulated ? undefined : run.sha256(config),
    secrets: secretTexts(config),
    expect: subject.expect,
    isRestarted: notBoot !== undefined,
  };
  const canAsk = !simulated && outcome.report !== undefined;
  const answers = canAsk ? await askMachine(bench, name, probesFor(known, subject.tests)) : new Map();
  const facts = { ...known, now: Date.now() };
  return {
    results: [
      checkReady(name, outcome.phase === 'ready', outcome.error ?? outcome.phase),
      ...(simulated ? [] : checkReport(facts)),
      ...checkMachine(facts, answers, subject.tests, simulated || outcome.phase !== 'ready'),
    ],
    answers,
    outcome,
    facts,
  };
}

/** Concurrently: each has its own processor. A failure is thrown after the others have finished too. */
export async function examineAll(
  { progress }: Pick<Run, 'progress'>,
  machines: readonly (readonly [TestMachine, () => Promise<Examined>])[],
): Promise<readonly Examined[]> {
  const waitedFor = new Set(machines.map(([{ name, firmware }]) => `${name} (${firmware})`));
  const report = () =>
    progress(
      machines.length - waitedFor.size,
      machines.length,
      waitedFor.size === 0 ? 'all have responded' : `waiting for ${[...waitedFor].join(' and ')}`,
    );
  report();
  const ends = await Promise.allSettled(
    machines.map(async ([{ name, firmware }, look]) => {
      const seen = await look();
      waitedFor.delete(`${name} (${firmware})`);
      report();
      return seen;
    }),
  );
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
}
