// What a simulated machine does after it is switched on, as its agent and its console tell it.

import { isoTime } from '../../../cloud/state/cloud.ts';
import type { MachineReport } from '../../../ports/provider/machines.ts';
import type { NodeHealth } from '../../../ports/provider/pools.ts';
import type { SimContext } from '../world/context.ts';
import { fraction } from '../world/durations.ts';
import { readTraits, type Traits } from '../world/traits.ts';
import { type MachineColumns, machinePower } from './machine-rows.ts';

interface Timeline {
  readonly speaksAt: number;
  readonly appliesAt: number;
  readonly endsAt: number;
}

const slowFactor = 20;
const shareThatBreaks = 1 / 3;

export function timelineOf({ durationOf }: SimContext, row: MachineColumns, { breaks }: Traits): Timeline {
  const factor = breaks === 'slow' ? slowFactor : 1;
  const boot = durationOf('boot', row.machineId) * factor;
  const apply = durationOf('apply', row.machineId) * factor;
  const appliesAt = row.bootedAt + boot;
  return { speaksAt: row.bootedAt + boot / 2, appliesAt, endsAt: appliesAt + apply };
}

export function agentFails(row: MachineColumns, { breaks }: Traits): boolean {
  return breaks === 'agent' || (breaks === 'sometimes' && fraction(row.machineId) < shareThatBreaks);
}

/** A machine that is switched off says nothing new. */
function lastMoment(row: MachineColumns, now: number): number {
  return row.powerTo === 'stopped' ? Math.min(now, row.powerSince) : now;
}

export function reportOf(
  context: SimContext,
  row: MachineColumns,
  facts: Readonly<Record<string, string>>,
): MachineReport | undefined {
  const traits = readTraits(row.traits);
  const now = lastMoment(row, context.world.time());
  const { speaksAt, appliesAt, endsAt } = timelineOf(context, row, traits);
  if (row.hasDisk === 0 || traits.breaks === 'boot' || now < speaksAt) return undefined;
  if (now < appliesAt) return { phase: 'booting', at: isoTime(speaksAt), facts };
  if (now < endsAt) return { phase: 'applying', at: isoTime(appliesAt), facts };
  if (!agentFails(row, traits)) return { phase: 'ready', at: isoTime(endsAt), facts };
  const error = 'containerd.service did not start (exit status 1)';
  return { phase: 'failed', at: isoTime(endsAt), facts: { ...facts, error } };
}

export function healthOf(context: SimContext, row: MachineColumns): NodeHealth {
  const now = context.world.time();
  const traits = readTraits(row.traits);
  if (row.hasDisk === 0 || traits.breaks === 'boot' || machinePower(row, now) !== 'running') return 'unknown';
  if (now < timelineOf(context, row, traits).endsAt) return 'unknown';
  return agentFails(row, traits) ? 'unhealthy' : 'healthy';
}

/** Everything that the console has shown since it was last switched on, oldest first. */
export function consoleOf(context: SimContext, row: MachineColumns, name: string): readonly string[] {
  const traits = readTraits(row.traits);
  const now = lastMoment(row, context.world.time());
  const times = timelineOf(context, row, traits);
  const lines: (readonly [number, string])[] = [
    [row.bootedAt, 'Booting the system from disk'],
    [row.bootedAt + 500, `Command line: root=PARTLABEL=root console=ttyS0 imago.machine=${row.machineId}`],
    ...(traits.breaks === 'boot' ? brokenBoot(times) : wholeBoot(row, times, name, traits)),
  ];
  if (row.hasDisk === 0) return [];
  return lines
    .filter(([at]) => at <= now)
    .map(([at, line]) => `[${((at - row.bootedAt) / 1000).toFixed(3).padStart(10)}] ${line}`);
}

function brokenBoot({ speaksAt }: Timeline): (readonly [number, string])[] {
  return [
    [speaksAt, 'VFS: Cannot open root device "PARTLABEL=root" or unknown-block(0,0): error -6'],
    [speaksAt, 'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)'],
  ];
}

function wholeBoot(
  row: MachineColumns,
  { speaksAt, appliesAt, endsAt }: Timeline,
  name: string,
  traits: Traits,
): (readonly [number, string])[] {
  return [
    [speaksAt, `systemd[1]: Hostname set to <${name}>.`],
    [appliesAt, 'imago-agent: node config read, applying'],
    [
      endsAt,
      agentFails(row, traits)
        ? 'imago-agent: failed: containerd.service did not start (exit status 1)'
        : 'imago-agent: ready',
    ],
  ];
}
