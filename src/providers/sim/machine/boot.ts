// What a simulated machine does after it is switched on, as its agent and its console tell it.

import { isoTime, sha256 } from '../../../cloud/state/cloud.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { MachineReport, MachineSpec } from '../../../ports/provider/machines.ts';
import type { NodeHealth } from '../../../ports/provider/pools.ts';
import type { SimTiming } from '../world/context.ts';
import { fraction } from '../world/durations.ts';
import { readTraits, type Traits } from '../world/traits.ts';
import { powerOf } from './imaging.ts';

interface Timeline {
  readonly bootedAt: number;
  readonly speaksAt: number;
  readonly appliesAt: number;
  readonly endsAt: number;
}

const slowFactor = 20;
const shareThatBreaks = 1 / 3;

export function timelineOf({ durationOf }: SimTiming, row: MachineRow, { breaks }: Traits): Timeline {
  const factor = breaks === 'slow' ? slowFactor : 1;
  const boot = durationOf('boot', row.machineId) * factor;
  const apply = durationOf('apply', row.machineId) * factor;
  const bootedAt = row.bootedAt ?? 0;
  const appliesAt = bootedAt + boot;
  return { bootedAt, speaksAt: bootedAt + boot / 2, appliesAt, endsAt: appliesAt + apply };
}

export function agentFails(row: MachineRow, { breaks }: Traits): boolean {
  return breaks === 'agent' || (breaks === 'sometimes' && fraction(row.machineId) < shareThatBreaks);
}

/** A machine that is switched off says nothing new. */
function lastMoment(row: MachineRow, now: number): number {
  return row.powerTo === 'stopped' ? Math.min(now, row.powerSince) : now;
}

/** Returns what the machine's agent last reported since it was switched on. */
export function reportOf(context: SimTiming, row: MachineRow): MachineReport | undefined {
  const facts = factsOf(row);
  const traits = readTraits(row.traits);
  const now = lastMoment(row, context.world.time());
  const { speaksAt, appliesAt, endsAt } = timelineOf(context, row, traits);
  if (row.disk === 0 || traits.breaks === 'boot' || now < speaksAt) return undefined;
  if (now < appliesAt) return { phase: 'booting', at: isoTime(speaksAt), facts };
  if (now < endsAt) return { phase: 'applying', at: isoTime(appliesAt), facts };
  if (!agentFails(row, traits)) return { phase: 'ready', at: isoTime(endsAt), facts };
  const error = 'containerd.service did not start (exit status 1)';
  return { phase: 'failed', at: isoTime(endsAt), facts: { ...facts, error } };
}

function factsOf(row: MachineRow): Readonly<Record<string, string>> {
  const common = { machineId: row.machineId, hostname: row.name };
  if (row.spec === null) return common;
  const { image, version, digest, firmware, userData } = JSON.parse(row.spec) as MachineSpec;
  const { kubernetes } = readTraits(row.traits);
  return {
    ...common,
    ...{ image, version, digest, firmware },
    nodeConfig: `sha256:${sha256(userData)}`,
    ...(kubernetes === undefined ? {} : { kubernetes }),
  };
}

export function healthOf(context: SimTiming, row: MachineRow): NodeHealth {
  const now = context.world.time();
  const traits = readTraits(row.traits);
  if (row.disk === 0 || traits.breaks === 'boot' || powerOf(row, now) !== 'running') return 'unknown';
  if (now < timelineOf(context, row, traits).endsAt) return 'unknown';
  return agentFails(row, traits) ? 'unhealthy' : 'healthy';
}

/** Returns everything that the console has shown since the machine was last switched on, oldest first. */
export function consoleOf(context: SimTiming, row: MachineRow): readonly string[] {
  const traits = readTraits(row.traits);
  const now = lastMoment(row, context.world.time());
  const times = timelineOf(context, row, traits);
  const lines: (readonly [number, string])[] = [
    [times.bootedAt, 'Booting the system from disk'],
    [times.bootedAt + 500, `Command line: root=PARTLABEL=root console=ttyS0 imago.machine=${row.machineId}`],
    ...(traits.breaks === 'boot' ? brokenBoot(times) : wholeBoot(row, times, traits)),
  ];
  if (row.disk === 0) return [];
  return lines
    .filter(([at]) => at <= now)
    .map(([at, line]) => `[${((at - times.bootedAt) / 1000).toFixed(3).padStart(10)}] ${line}`);
}

function brokenBoot({ speaksAt }: Timeline): (readonly [number, string])[] {
  return [
    [speaksAt, 'VFS: Cannot open root device "PARTLABEL=root" or unknown-block(0,0): error -6'],
    [speaksAt, 'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)'],
  ];
}

function wholeBoot(
  row: MachineRow,
  { speaksAt, appliesAt, endsAt }: Timeline,
  traits: Traits,
): (readonly [number, string])[] {
  return [
    [speaksAt, `systemd[1]: Hostname set to <${row.name}>.`],
    [appliesAt, 'imago-agent: node config read, applying'],
    [
      endsAt,
      agentFails(row, traits)
        ? 'imago-agent: failed: containerd.service did not start (exit status 1)'
        : 'imago-agent: ready',
    ],
  ];
}
