// Runs every suite and ends with a table. In CI a suite that is skipped counts as failed.
import { spawn } from 'node:child_process';
import { type Suite, suites } from './suites.ts';

interface Outcome {
  readonly suite: Suite;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly why: string;
  readonly seconds: number;
}

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

const outcomes: Outcome[] = [];
for (const suite of suites) {
  if (wanted.length > 0 && !wanted.includes(suite.name)) continue;
  outcomes.push(await run(suite));
}
report(outcomes);

async function run(suite: Suite): Promise<Outcome> {
  const lacking = await suite.lacks?.();
  if (lacking !== undefined) return { suite, state: 'skipped', why: lacking, seconds: 0 };
  console.log(`\n── ${suite.name}: ${suite.what}`);
  const start = performance.now();
  const code = await execute(suite);
  const seconds = (performance.now() - start) / 1000;
  const state = code === 0 ? 'passed' : 'failed';
  return { suite, state, why: code === 0 ? '' : `exit code ${code}`, seconds };
}

function execute(suite: Suite): Promise<number> {
  const [command, ...rest] = suite.command;
  if (command === undefined) throw new Error(`Suite ${suite.name} has no command.`);
  const env = { ...process.env, ...(soak ? { IMAGO_SOAK: '1' } : {}) };
  const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit'], env });
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(error.message);
      resolve(127);
    });
    child.on('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
}

function report(all: readonly Outcome[]): void {
  console.log(`\n${'suite'.padEnd(14)} ${'result'.padEnd(8)} seconds  why`);
  for (const { suite, state, why, seconds } of all) {
    console.log(`${suite.name.padEnd(14)} ${state.padEnd(8)} ${seconds.toFixed(1).padStart(7)}  ${why}`);
  }
  const count = (state: Outcome['state']) => all.filter((outcome) => outcome.state === state).length;
  const skipped = count('skipped');
  const bad = count('failed') + (ci ? skipped : 0);
  console.log(`\n${count('passed')} passed, ${bad} failed, ${ci ? 0 : skipped} skipped`);
  if (ci && skipped > 0) console.log('In CI a skipped suite counts as failed.');
  process.exit(bad === 0 && all.length > 0 ? 0 : 1);
}
