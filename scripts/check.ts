// Runs every suite and ends with a table. In CI a suite or a test that is skipped counts as failed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatVerdicts, judgeSuite, type SuiteRun } from './judge-suites.ts';
import { type Suite, suites } from './suites.ts';
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
  ...args.filter((arg) => /^-/.test(arg) && arg !== '--soak'),
];
if (unknown.length > 0) {
  console.error(`No such suite or flag: ${unknown.join(', ')}. See ./check --list.`);
  process.exit(2);
}

const runs: SuiteRun[] = [];
for (const suite of suites) {
  if (wanted.length > 0 && !wanted.includes(suite.name)) continue;
  runs.push(await run(suite));
}
const verdicts = runs.map((one) => judgeSuite(one, ci));
console.log(`\n${formatVerdicts(verdicts, ci).join('\n')}`);
process.exit(verdicts.length > 0 && verdicts.every(({ state }) => state !== 'failed') ? 0 : 1);

async function run(suite: Suite): Promise<SuiteRun> {
  const { name } = suite;
  const lacks = await suite.lacks?.();
  if (lacks !== undefined) return { name, lacks, seconds: 0 };
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
