// Repeats a suite in random order and lists the tests that failed at least once: what fails in one of fifty runs is a bug.
// Usage: node scripts/repeat.ts SUITE N [--load] [FILE…]   --load: every second run with all cores kept busy
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { countFailures, type Repetition } from './count-failures.ts';
import { suites } from './suites.ts';
import type { TestReport } from './test-report.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { load: { type: 'boolean' } } });
const [name, count = '3', ...files] = positionals;
const suite = suites.find((one) => one.name === name && one.countsTests === true);
const times = Number(count);
if (suite === undefined || !Number.isInteger(times) || times < 1) {
  const names = suites.filter((one) => one.countsTests).map((one) => one.name);
  console.error(`usage: node scripts/repeat.ts ${names.join('|')} N [--load] [FILE…]`);
  process.exit(2);
}

// Unit tests are independent of each other; the tests of a journey build on each other.
const within = name === 'unit' ? ['--sequence.shuffle.tests'] : [];
const busy = 'for (;;) Math.random();';
const folder = mkdtempSync(join(tmpdir(), 'imago-repeat-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const repetitions: Repetition[] = [];
for (let index = 1; index <= times; index += 1) {
  const loaded = values.load === true && index % 2 === 0;
  const seed = Math.floor(Math.random() * 1e9);
  const load = Array.from({ length: loaded ? availableParallelism() : 0 }, () =>
    spawn(process.execPath, ['-e', busy], { stdio: 'ignore' }),
  );
  const end = () => load.forEach((child) => void child.kill('SIGKILL'));
  process.once('exit', end);
  try {
    console.log(`\n── ${name}, run ${index} of ${times}, seed ${seed}${loaded ? ', under load' : ''}`);
    const report = join(folder, `${index}.json`);
    const code = await run(
      [...suite.command, '--sequence.shuffle.files', ...within, `--sequence.seed=${seed}`, ...files],
      report,
    );
    repetitions.push({ seed, loaded, code, ...readReport(report) });
  } finally {
    end();
    process.off('exit', end);
  }
}
console.log(`\n${countFailures(repetitions).join('\n')}`);
process.exit(repetitions.every(({ code }) => code === 0) ? 0 : 1);

function run([command = '', ...args]: readonly string[], report: string): Promise<number> {
  const env = { ...process.env, IMAGO_TEST_REPORT: report, IMAGO_TEST_ORDER: 'random' };
  const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 128));
  });
}

function readReport(path: string): Pick<TestReport, 'failed'> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as TestReport;
  } catch {
    return { failed: [] };
  }
}
