// Runs the benches one after the other and writes docs/performance.md, with commit, load and the bars that are
// missed or were not measured. `node test/bench/run.ts [--large] [--keep-page] [NAME…]` runs some of them and writes
// their parts of the page anew; what takes long (`--large`) is always part of the page.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Bench, benches } from './benches.ts';
import type { BenchRow } from './row.ts';

const root = join(import.meta.dirname, '../..');
const options = process.argv.slice(2);
const wanted = options.filter((option) => !option.startsWith('--'));
const chosen = benches.filter((bench) => wanted.length === 0 || wanted.includes(bench.name));
const pageFile = join(root, 'docs/performance.md');
const isPage = !options.includes('--keep-page');
const passedOn = isPage || options.includes('--large') ? ['--large'] : [];
const written = new Map<string, string>();
let missed = 0;
let unmeasured = 0;

for (const bench of chosen) {
  const load = loadavg()[0] ?? 0;
  console.log(`── ${bench.name}: ${bench.what}`);
  const rows = await run(bench);
  unmeasured += rows.filter((row) => row.skipped !== undefined).length;
  missed += rows.filter((row) => !row.met && row.skipped === undefined).length;
  written.set(bench.what, section(bench.what, load, rows));
  if (isPage) writeFileSync(pageFile, page());
}
if (isPage) console.log('docs/performance.md: written');
console.log(verdict());
if (missed + unmeasured > 0) process.exitCode = 1;

function verdict(): string {
  if (missed + unmeasured === 0) return 'Every bar is met.';
  return `Bars that are missed: ${missed}. Bars that were not measured: ${unmeasured}.`;
}

/** What it printed; if it did not come to its end, a row says so. */
function run({ file, what }: Bench): Promise<readonly BenchRow[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...passedOn], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    process.stdout.write(chunk);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const lines = text.split('\n').filter((line) => line.startsWith('{"row":'));
      const rows = lines.map((line) => (JSON.parse(line) as { row: BenchRow }).row);
      if (code === 0 && rows.length > 0) resolve(rows);
      else resolve([...rows, { what, value: `the bench ended with ${code}`, bar: 'a result', met: false }]);
    });
  });
}

function section(what: string, load: number, rows: readonly BenchRow[]): string {
  return [
    heading(what),
    '',
    `Commit ${git('rev-parse', '--short', 'HEAD')}, ${new Date().toISOString().slice(0, 10)}. Load before: ${load.toFixed(1)}.`,
    '',
    '| what | measured | against | ratio | bar | met |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => {
      const ratio = row.ratio === undefined ? '' : row.ratio.toFixed(2);
      const value = row.skipped === undefined ? row.value : `not measured: ${row.skipped}`;
      return `| ${row.what} | ${value} | ${row.against ?? ''} | ${ratio} | ${row.bar} | ${row.met ? 'yes' : '**no**'} |`;
    }),
    '',
  ].join('\n');
}

function heading(what: string): string {
  return `## ${what[0]?.toUpperCase()}${what.slice(1)}`;
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
}

/** The parts that were measured now, and those of earlier runs. */
function page(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const memory = Math.round(totalmem() / 2 ** 30);
  const earlier = readFileSync(pageFile, 'utf8').split(/^(?=## )/m);
  const kept = (what: string) => earlier.find((part) => part.startsWith(`${heading(what)}\n`));
  return [
    '# Performance',
    '',
    'Written by `npm run bench`. The computer is shared and noisy: read the ratios, which come from one run each. Bars that are missed stay here.',
    '',
    `Imago ${version}, Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${memory} GiB.`,
    '',
    ...benches.flatMap(({ what }) => written.get(what) ?? kept(what)?.trimEnd().concat('\n') ?? []),
  ].join('\n');
}
