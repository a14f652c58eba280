// How long the daemon takes from nothing to its first answer, and what it takes when it has nothing to do. Packed, as
// it is shipped.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { layOutPacked } from '../support/packed-layout.ts';
import { printRow } from './row.ts';

const FIRST_START_BAR = 8;
const START_BAR = 3;
const MEMORY_BAR = 150;
/** Of one processor, in percent. */
const IDLE_BAR = 1;
const SETTLE_MS = 15_000;
const IDLE_MS = 20_000;
const TICKS_A_SECOND = 100;

const packed = layOutPacked();
const home = mkdtempSync(join(tmpdir(), 'imago-bench-'));
const env = { ...process.env, IMAGO_HOME: join(home, 'state') };

function imago(...words: readonly string[]): string {
  return execFileSync(packed.launcher, words, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function secondsOfStart(): number {
  const begun = performance.now();
  imago('up');
  imago('status', '-o', 'name');
  return Math.round(performance.now() - begun) / 1000;
}

function ticks(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function residentMegabytes(pid: string): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

try {
  const first = secondsOfStart();
  imago('down');
  const again = secondsOfStart();
  process.kill(Number(imago('status', '-o', 'name')), 'SIGKILL');
  const adopted = secondsOfStart();

  const pid = imago('status', '-o', 'name').trim();
  await sleep(SETTLE_MS);
  const before = ticks(pid);
  await sleep(IDLE_MS);
  const idle = (((ticks(pid) - before) / TICKS_A_SECOND) * 100_000) / IDLE_MS;
  const memory = residentMegabytes(pid);
  const rows: readonly (readonly [string, number, string, number])[] = [
    ['start to first answer, first ever', first, 's', FIRST_START_BAR],
    ['start to first answer, database made already', again, 's', START_BAR],
    ['start to first answer, database running already', adopted, 's', START_BAR],
    ['resident memory of the idle daemon, without PostgreSQL', memory, 'MB', MEMORY_BAR],
    ['processor time of the idle daemon', Math.round(idle * 100) / 100, '% of a core', IDLE_BAR],
  ];
  for (const [what, value, unit, bar] of rows) {
    printRow({ what, value: `${value} ${unit}`, bar: `≤ ${bar} ${unit}`, met: value <= bar });
  }
} finally {
  imago('down');
  packed.remove();
  rmSync(home, { recursive: true });
}
