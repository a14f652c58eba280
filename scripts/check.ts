// Runs every suite and ends with a table. In CI a suite or a test that is skipped counts as failed. Slow preparation
// starts in the background, beside the suites that do not need it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { patience, shareSpeed } from '../test/support/speed.ts';
import { checkFresh } from './check-fresh.ts';
import { formatVerdicts, judgeSuite, type SuiteRun } from './judge-suites.ts';
import { preparationNames } from './preparations.ts';
import { startPreparations } from './run-preparations.ts';
import { type Suite, suites } from './suites.ts';
import { sweepCache } from './sweep-cache.ts';
import type { TestReport } from './test-report.ts';

const args = process.argv.slice(2);
const soak = args.includes('--soak');
const wanted = args.filter((arg) => !arg.startsWith('-'));
const ci = process.env.CI === 'true';

if (args.includes('--list')) {
  for (const suite of suites) console.log(`${suite.name.padEnd(14)} ${suite.what}`);
  process.exit(0);
}

const known = new Set(suites.map((suite) => suite.name));
const unknown = [
  ...wanted.filter((name) => !known.has(name)),
  ...args.filter((arg) => /^-/.test(arg) && arg !== '--soak' && arg !== '--fresh'),
];
if (unknown.length > 0) {
  console.error(`No such suite or flag: ${unknown.join(', ')}. See ./check --list.`);
  process.exit(2);
}

if (args.includes('--fresh'))
  process.exit(
    await checkFresh(
      wanted,
      args.filter((arg) => arg === '--soak'),
    ),
  );

const chosen = suites.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const speed = shareSpeed();
if (speed > 1) console.log(`This host is ${speed} times slower than the reference: limits are longer.`);
for (const path of await sweepCache()) console.log(`removed ${path}`);
const preparing = startPreparations(
  preparationNames.filter((name) => chosen.some(({ needs }) => needs?.includes(name))),
  { log: (line) => console.log(line), limitOf: ({ limitMs }) => patience(limitMs) },
);
process.on('exit', () => preparing.end());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));

const runs: SuiteRun[] = [];
for (const suite of chosen) runs.push(await run(suite));
const verdicts = runs.map((one) => judgeSuite(one, ci));
console.log(`\n${formatVerdicts(verdicts, ci).join('\n')}`);
process.exit(verdicts.length > 0 && verdicts.every(({ state }) => state !== 'failed') ? 0 : 1);

async function run(suite: Suite): Promise<SuiteRun> {
  const { name } = suite;
  const lacks = await suite.lacks?.();
  if (lacks !== undefined) return { name, lacks, outside: suite.outside === true, seconds: 0 };
  const unprepared = await preparing.ready(suite.needs ?? []);
  if (unprepared !== undefined) return { name, unprepared, seconds: 0 };
  console.log(`\n── ${name}: ${suite.what}`);
  const folder = mkdtempSync(join(tmpdir(), 'imago-check-'));
  try {
    const told = join(folder, 'report.json');
    const start = performance.now();
    const exitCode = await execute(suite, told);
    const seconds = (performance.now() - start) / 1000;
    return { name, exitCode, seconds, ...(suite.countsTests === true ? { tests: readReport(told) } : {}) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(path: string): TestReport | 'unknown' {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as TestReport;
  } catch {
    return 'unknown';
  }
}

function execute(suite: Suite, report: string): Promise<number> {
  const [command, ...rest] = suite.command;
  if (command === undefined) throw new Error(`Suite ${suite.name} has no command.`);
  const env = { ...process.env, IMAGO_TEST_REPORT: report, ...(soak ? { IMAGO_SOAK: '1' } : {}) };
  const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit'], env });
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(error.message);
      resolve(127);
    });
    child.on('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
}
