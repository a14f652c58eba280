// Runs the checks of an image: which scripts a machine is asked, and what the answers amount to.
import { pairChecks, restartChecks } from '../../domain/image-test/compare-checks.ts';
import { diskChecks } from '../../domain/image-test/disk-checks.ts';
import type {
  CheckHead,
  CheckResult,
  CompareCheck,
  MachineCheck,
  MachineFacts,
  ProbeAnswer,
  Verdict,
} from '../../domain/image-test/image-check.ts';
import { machineChecks } from '../../domain/image-test/machine-checks.ts';
import type { Probe } from '../../domain/image-test/probe-script.ts';
import { readyCheck, reportChecks } from '../../domain/image-test/report-checks.ts';
import type { RecipeTest } from '../../domain/recipe/recipe.ts';
import type { TestSubject } from './subject.ts';

/** The part of a provider's record of a machine that is checked. */
export interface MachineRecord {
  readonly machineId?: string | undefined;
  readonly digest?: string | undefined;
}

export type Answers = ReadonlyMap<string, ProbeAnswer>;

export function checkDisk({ disk, budgets, expect }: TestSubject, isSimulated: boolean): CheckResult[] {
  return diskChecks.map((check) =>
    disk === undefined
      ? unread(check, 'disk', isSimulated, 'the disk could not be read')
      : result(check, 'disk', check.judge(disk, budgets, expect)),
  );
}

/** Every script that a machine is asked: its own checks, what is compared, and the recipe's tests. */
export function probesFor(facts: MachineFacts, tests: readonly RecipeTest[]): Probe[] {
  const own = machineChecks.flatMap((check) => {
    const script = scriptOf(check, facts);
    return script === undefined ? [] : [{ id: check.id, script, timeoutMs: check.timeoutMs }];
  });
  const compared = [...pairChecks, ...restartChecks].flatMap((check) => {
    const script = check.script(facts);
    return script === undefined ? [] : [{ id: check.id, script }];
  });
  const recipe = tests.map(({ run, timeoutMs }, index) => ({ id: recipeId(index), script: run, timeoutMs }));
  return [...own, ...compared, ...recipe];
}

/** `undefined` if the check does not apply to this machine, or no longer does. */
function scriptOf(check: MachineCheck, facts: MachineFacts): string | undefined {
  return check.once === true && facts.isRestarted === true ? undefined : check.script(facts);
}

export function checkReady(on: string, passed: boolean, detail: string): CheckResult {
  return result(readyCheck, on, { passed, detail });
}

export function checkReport(facts: MachineFacts): CheckResult[] {
  return reportChecks.flatMap((check) => {
    const verdict = check.judge(facts);
    return verdict === undefined ? [] : [result(check, facts.name, verdict)];
  });
}

export function checkMachine(
  facts: MachineFacts,
  answers: Answers,
  tests: readonly RecipeTest[],
  /** It is simulated, or never became ready, which is its own failure: a missing answer is not another one. */
  isSilent: boolean,
): CheckResult[] {
  const silent = 'the machine gave no answer';
  const built = machineChecks.flatMap((check) => {
    if (scriptOf(check, facts) === undefined) return [];
    const answer = answers.get(check.id);
    if (answer === undefined) return [unread(check, facts.name, isSilent, silent)];
    return [result(check, facts.name, check.judge(answer, facts))];
  });
  const own = tests.map((test, index) => {
    const head = { id: recipeId(index), title: test.name, remedy: 'See what the recipe runs for it.' };
    const answer = answers.get(head.id);
    if (answer === undefined) return unread(head, facts.name, isSilent, silent);
    const said = answer.output.trim().slice(-300);
    const passed = answer.exitCode === 0;
    const detail = passed ? 'passed' : `ended with ${answer.exitCode}${said === '' ? '' : `: ${said}`}`;
    return result(head, facts.name, { passed, detail });
  });
  return [...built, ...own];
}

/** Two machines against each other. */
export function checkPair(facts: MachineFacts, one: Answers, other: Answers): CheckResult[] {
  return compare(pairChecks, 'both', facts, one, other);
}

/** What the provider itself says of two machines: never the same machine, and never of another digest. */
export function checkRecords(records: readonly MachineRecord[], digest: string): CheckResult[] {
  const ids = records.map(({ machineId }) => machineId ?? '');
  const others = records.filter((record) => record.digest !== digest);
  return [
    result(platformIds, 'both', {
      passed: new Set(ids).size === ids.length && !ids.includes(''),
      detail: ids.map((id) => (id === '' ? 'none' : id)).join(' '),
    }),
    result(testedDigest, 'both', {
      passed: others.length === 0,
      detail: others.length === 0 ? digest : others.map((other) => other.digest ?? 'unknown').join(' '),
    }),
  ];
}

const platformIds: CheckHead = {
  id: 'pair-platform-id',
  title: 'the platform gives two machines ids of their own',
  remedy: 'The provider is broken: report it.',
};

const testedDigest: CheckHead = {
  id: 'pair-digest',
  title: 'the machines were made from the digest under test',
  remedy: 'Another version has this number: verify the gallery.',
};

/** One machine before and after a restart. `console` holds the last lines of the boot that ended. */
export function checkRestart(
  facts: MachineFacts,
  before: Answers,
  after: Answers,
  console: readonly string[],
): CheckResult[] {
  const clean = console.some((line) => /reboot: Power down|systemd-shutdown.*[Pp]owering off/.test(line));
  const detail = clean ? 'powered down' : `its console ends with: ${console.at(-1) ?? 'nothing'}`;
  return [
    result(shutdown, facts.name, { passed: clean, detail }),
    ...compare(restartChecks, facts.name, facts, before, after),
  ];
}

const shutdown: CheckHead = {
  id: 'restart-clean-shutdown',
  title: 'the machine shuts down cleanly when it is asked to',
  remedy: 'A service does not end, or nothing listens to the power button.',
};

/** Everything that is built in, for the documentation. */
export const builtInChecks: readonly CheckHead[] = [
  ...diskChecks,
  readyCheck,
  ...reportChecks,
  ...machineChecks,
  platformIds,
  testedDigest,
  ...pairChecks,
  shutdown,
  ...restartChecks,
];

/** What of the answers a later comparison needs, in a form that can be recorded. */
export function toCompare(answers: Answers): Record<string, { exitCode: number; output: string }> {
  const kept = restartChecks.flatMap(({ id }) => {
    const answer = answers.get(id);
    return answer === undefined ? [] : [[id, { ...answer }] as const];
  });
  return Object.fromEntries(kept);
}

function compare(
  checks: readonly CompareCheck[],
  on: string,
  facts: MachineFacts,
  one: Answers,
  other: Answers,
): CheckResult[] {
  if (one.size === 0 || other.size === 0) {
    return checks.map((check) => unread(check, on, true, 'one of them gave no answer at all'));
  }
  return checks.flatMap((check) => {
    if (check.script(facts) === undefined) return [];
    const [a, b] = [one.get(check.id), other.get(check.id)];
    if (a === undefined || b === undefined) return [unread(check, on, false, 'one of them gave no answer')];
    return [result(check, on, check.judge(a, b))];
  });
}

function result({ id, title, remedy }: CheckHead, on: string, { passed, detail }: Verdict): CheckResult {
  return { id, title, on, state: passed ? 'passed' : 'failed', detail, ...(passed ? {} : { remedy }) };
}

/** A machine that is simulated or never booted cannot be queried; one that is running and does not answer has failed. */
function unread({ id, title, remedy }: CheckHead, on: string, isExcused: boolean, why: string): CheckResult {
  if (isExcused) return { id, title, on, state: 'not-run', detail: why };
  return { id, title, on, state: 'failed', detail: why, remedy };
}

function recipeId(index: number): string {
  return `recipe-${index + 1}`;
}
