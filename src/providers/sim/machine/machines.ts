// Simulated single machines.

import { change, look } from '../../../cloud/state/call.ts';
import type { Bend } from '../../../cloud/state/cloud.ts';
import { isoTime, regionNamed, sha256 } from '../../../cloud/state/cloud.ts';
import { countRows } from '../../../cloud/state/gallery-rows.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../../cloud/state/refusals.ts';
import type { DiskContent } from '../../../cloud/state/rows.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { checkName } from '../../../domain/value/name.ts';
import type {
  Machine,
  MachineCommand,
  MachineCommandResult,
  MachineSpec,
  Machines,
} from '../../../ports/provider/machines.ts';
import { consoleOf, reportOf } from '../state/boot.ts';
import {
  diskName,
  imagedFirst,
  type MachineColumns,
  machineError,
  machinePower,
  machineState,
  switchPower,
} from '../state/machine-rows.ts';
import { endOf, machineIdOf, nextSerial, type SimContext } from '../world/context.ts';
import { readTraits } from '../world/traits.ts';
import { answerScript } from './run-command.ts';

export interface MachineRow extends MachineColumns {
  readonly name: string;
  readonly spec: string;
}

export function simMachines(context: SimContext): Machines {
  const { world } = context;
  return {
    createMachine: (spec, options) =>
      change(context, `machine ${spec.name}`, options, (bend) => createMachine(context, spec, bend)),
    getMachine: (name, options) =>
      look(context, options, () => {
        const row = findMachine(context, name);
        return row && toMachine(context, row);
      }),
    listMachines: (query, options) =>
      look(context, options, () => {
        const rows = world.all<MachineRow>(
          'SELECT * FROM machine WHERE name > ? AND (goneAt IS NULL OR goneAt > ?) ORDER BY name LIMIT ?',
          query.cursor ?? '',
          world.time(),
          rowsFor(query),
        );
        return pageOf(
          query,
          rows,
          (row) => row.name,
          (row) => toMachine(context, row),
        );
      }),
    report: (name, options) =>
      look(context, options, () => {
        const row = requireMachine(context, name);
        return reportOf(context, row, factsOf(row));
      }),
    console: (name, lines, options) =>
      look(context, options, () => {
        if (!Number.isInteger(lines) || lines < 1)
          throw invalid(`At least 1 line must be asked for, not ${lines}.`);
        return consoleOf(context, requireMachine(context, name), name).slice(-lines);
      }),
    runCommand: (name, command, options) =>
      change(context, `machine ${name}`, options, () => runCommand(context, name, command)),
    stopMachine: (name, options) =>
      change(context, `machine ${name}`, options, (bend) => setPower(context, name, 'stopped', bend)),
    startMachine: (name, options) =>
      change(context, `machine ${name}`, options, (bend) => setPower(context, name, 'running', bend)),
    deleteMachine: (name, options) =>
      change(context, `machine ${name}`, options, (bend) => {
        const row = findMachine(context, name);
        if (row === undefined || row.goneAt !== null || bend.failure !== undefined) return;
        const goneAt = endOf(context, 'machineDelete', name, bend);
        world.run('UPDATE machine SET goneAt = ? WHERE name = ?', goneAt, name);
      }),
  };
}

function createMachine(context: SimContext, spec: MachineSpec, bend: Bend): void {
  const { world } = context;
  checkName('node', spec.name);
  const region = regionNamed(context, spec.region);
  const text = canonicalJson({ ...spec });
  const found = findMachine(context, spec.name);
  if (found !== undefined) {
    if (found.goneAt !== null) throw busy(`Machine ${spec.name} is being deleted.`);
    if (found.spec === text) return;
    throw conflict(`Machine ${spec.name} exists and is another.`);
  }
  const source = sealedContent(context, spec) ?? usableVersion(context, spec, region);
  if (source === undefined) {
    throw notFound(
      `There is neither a sealed disk ${spec.digest} nor ${spec.image}:${spec.version} in ${region}.`,
    );
  }
  world.run('DELETE FROM machine WHERE goneAt <= ?', world.time());
  checkLimit('machines', countRows(world, 'machine') + 1, context.limits.machines);
  world.insert('machine', {
    name: spec.name,
    spec: text,
    machineId: machineIdOf(world, 'machine', spec.name, nextSerial(world)),
    createdAt: world.time(),
    ...imagedFirst(context, { kind: 'machineCreate', name: spec.name, source, waits: 0, bend }),
  });
}

function runCommand(
  context: SimContext,
  name: string,
  { script, timeoutMs }: MachineCommand,
): MachineCommandResult {
  if (!context.abilities.runCommand) throw lacks('The provider cannot run commands in machines.');
  if (!(timeoutMs > 0)) throw invalid(`A command must have some time, not ${timeoutMs} ms.`);
  const row = requireMachine(context, name);
  const listens =
    machinePower(row, context.world.time()) === 'running' && reportOf(context, row, {}) !== undefined;
  if (row.goneAt !== null || !listens) throw busy(`Machine ${name} does not listen to commands.`);
  return answerScript(script, { hostname: name, machineId: row.machineId });
}

function sealedContent({ world }: SimContext, { digest }: MachineSpec): DiskContent | undefined {
  return world.get<DiskContent>(
    'SELECT digest, diskDigest, diskBytes, traits FROM sealedDisk WHERE digest = ? LIMIT 1',
    digest,
  );
}

function setPower(context: SimContext, name: string, to: 'running' | 'stopped', bend: Bend): void {
  const columns = switchPower(context, requireMachine(context, name), to, `Machine ${name}`, bend);
  if (columns === undefined) return;
  context.world.run(
    'UPDATE machine SET powerTo = ?, powerSince = ?, powerAt = ?, bootedAt = ? WHERE name = ?',
    columns.powerTo,
    columns.powerSince,
    columns.powerAt,
    columns.bootedAt,
    name,
  );
}

function findMachine({ world }: SimContext, name: string): MachineRow | undefined {
  return world.get<MachineRow>(
    'SELECT * FROM machine WHERE name = ? AND (goneAt IS NULL OR goneAt > ?)',
    name,
    world.time(),
  );
}

function requireMachine(context: SimContext, name: string): MachineRow {
  const found = findMachine(context, name);
  if (found === undefined) throw notFound(`There is no machine ${name}.`);
  return found;
}

export function toMachine({ world }: SimContext, row: MachineRow): Machine {
  const now = world.time();
  const error = machineError(row, now);
  return {
    ...(JSON.parse(row.spec) as MachineSpec),
    machineId: row.machineId,
    state: machineState(row, now),
    power: machinePower(row, now),
    createdAt: isoTime(row.createdAt),
    ...(row.hasDisk === 1 ? { osDisk: diskName(row) } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

function factsOf(row: MachineRow): Readonly<Record<string, string>> {
  const spec = JSON.parse(row.spec) as MachineSpec;
  const { kubernetes } = readTraits(row.traits);
  return {
    machineId: row.machineId,
    hostname: spec.name,
    image: spec.image,
    version: spec.version,
    digest: spec.digest,
    firmware: spec.firmware,
    nodeConfig: `sha256:${sha256(spec.userData)}`,
    ...(kubernetes === undefined ? {} : { kubernetes }),
  };
}
