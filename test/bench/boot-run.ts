// One boot of one machine, from the start of its process until it says that it is ready: by its agent's report, or by
// a line on its console.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { type MachineImage, startImageMachine } from '../support/cloud-init-machine.ts';
import { nodeDocument, readyMark, stageScript } from './boot-images.ts';

/** Seconds since the machine's process was started. */
export interface BootTimes {
  readonly ready: number;
  /** What QEMU took of the processors until then. */
  readonly cpu: number;
  /** When the kernel, the first program, and some units began; those that the machine does not have are left out. */
  readonly stages: ReadonlyMap<string, number>;
}

export interface BootedMachine {
  readonly id: string;
  readonly disk: string;
  readonly times: BootTimes;
}

const patienceMs = 1_800_000;
const lookEveryMs = 50;

/** The machine is left running. */
export async function bootMachine(
  host: MachineHost,
  image: MachineImage,
  { folder, id, by }: { readonly folder: string; readonly id: string; readonly by: 'report' | 'console' },
): Promise<BootedMachine> {
  const begun = performance.now();
  const disk = await startImageMachine(host, image, { folder, id, document: nodeDocument });
  const readyUptime = await until(host, id, () => (by === 'report' ? reported(host, id) : told(host, id)));
  const ready = (performance.now() - begun) / 1000;
  const cpu = await cpuSeconds(host, id);
  const lines =
    by === 'report'
      ? (await host.runCommand(id, stageScript, { timeoutMs: patienceMs })).stdout.split('\n')
      : await until(host, id, () => allTold(host, id));
  // The clock of a machine that gets little of a processor may run ahead.
  const kernelAt = Math.max(0, ready - readyUptime);
  return { id, disk, times: { ready, cpu, stages: stagesOf(lines, kernelAt) } };
}

/** The uptime at which it was ready. */
async function reported(host: MachineHost, id: string): Promise<number | undefined> {
  const report = await host.report(id);
  if (report?.phase === 'failed') throw new Error(`${id}: ${JSON.stringify(report.document.error)}`);
  if (report?.phase !== 'ready') return undefined;
  const mark = report.document.timeline.find(({ name }) => name === 'ready');
  if (mark === undefined) throw new Error(`${id} is ready and does not say since when`);
  return mark.ms / 1000;
}

async function told(host: MachineHost, id: string): Promise<number | undefined> {
  const pattern = new RegExp(`${readyMark} ([0-9.]+) s`);
  const lines = await host.console(id, 100);
  return lines.map((line) => Number(pattern.exec(line)?.[1] ?? Number.NaN)).find((value) => value > 0);
}

async function allTold(host: MachineHost, id: string): Promise<readonly string[] | undefined> {
  const lines = await host.console(id, 500);
  return lines.some((line) => line.includes('BENCH-END')) ? lines : undefined;
}

async function until<T>(host: MachineHost, id: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const { state } = await host.status(id);
    if (state !== 'running' || performance.now() > end) {
      throw new Error(`${id} is ${state} and not ready:\n${(await host.console(id, 30)).join('\n')}`);
    }
    await sleep(lookEveryMs);
  }
}

function stagesOf(lines: readonly string[], kernelAt: number): Map<string, number> {
  const stages = new Map([['kernel', kernelAt]]);
  for (const line of lines) {
    const [, name = '', value = '0', unit] = /BENCH-STAGE (\S+) ([0-9.]+) (s|us)/.exec(line) ?? [];
    const uptime = Number(value) / (unit === 'us' ? 1e6 : 1);
    if (uptime > 0) stages.set(name, kernelAt + uptime);
  }
  return stages;
}

const ticksPerSecond = 100;

async function cpuSeconds(host: MachineHost, id: string): Promise<number> {
  const { pid } = await host.status(id);
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
