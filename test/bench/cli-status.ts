// How long `imago status` takes beside the start of Node itself, packed and from source. The runs are interleaved, so
// that a busy machine slows all of them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layOutPacked, sourceLauncher } from '../support/packed-layout.ts';
import { printRow } from './row.ts';

const ROUNDS = 25;
const BAR = 2.5;

const packed = layOutPacked();
const home = mkdtempSync(join(tmpdir(), 'imago-bench-'));
const env = { ...process.env, IMAGO_HOME: join(home, 'state') };
const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  node: [process.execPath, '-e', '0'],
  packed: [packed.launcher, 'status', '--json'],
  source: [sourceLauncher, 'status', '--json'],
};

function run([program, ...words]: readonly [string, ...string[]]): number {
  const begun = performance.now();
  execFileSync(program, words, { env, stdio: 'ignore' });
  return performance.now() - begun;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function inMs(value: number): string {
  return `${Math.round(value)} ms`;
}

try {
  run([packed.launcher, 'up']);
  for (const command of Object.values(commands)) run(command);
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, [] as number[]]));
  for (let n = 0; n < ROUNDS; n += 1) {
    for (const [name, command] of Object.entries(commands)) times[name]?.push(run(command));
  }
  const node = median(times.node ?? []);
  for (const [name, bar] of [
    ['packed', BAR],
    ['source', undefined],
  ] as const) {
    const value = median(times[name] ?? []);
    printRow({
      what: `imago status, ${name === 'packed' ? 'packed' : 'from source'} (median of ${ROUNDS})`,
      value: inMs(value),
      against: `node -e 0: ${inMs(node)}`,
      ratio: value / node,
      bar: bar === undefined ? 'none' : `≤ ${bar} ×`,
      met: bar === undefined || value / node <= bar,
    });
  }
} finally {
  run([packed.launcher, 'down']);
  packed.remove();
  rmSync(home, { recursive: true });
}
