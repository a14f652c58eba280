// Simulated single machines.
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { checkName } from '../../../domain/value/name.ts';
import type {
  Machine,
  MachineCommand,
  MachineCommandResult,
  MachineReport,
  MachineSpec,
  Machines,
} from '../../../ports/provider/machines.ts';
import { countRows } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../common/refusals.ts';
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
import { type DiskContent, usableVersion } from '../state/version-source.ts';
import { type Bend, finds, lists, reads, writes } from '../world/call.ts';
import {
  endOf,
  isoTime,
  machineIdOf,
  nextSerial,
  regionNamed,
  type SimContext,
  sha256,
} from '../world/context.ts';
import { readTraits } from '../world/traits.ts';
import { answerScript } from './run-command.ts';

export interface MachineRow extends MachineColumns {
  readonly name: string;
  readonly spec: string;
}

export function simMachines(context: SimContext): Machines {
  const { call, world } = context;
  return {
    createMachine: (spec, options) =>
      call(writes('machines.createMachine', spec.name), options, (bend) =>
        createMachine(context, spec, bend),
      ),
    getMachine: (name, options) =>
      call(finds<Machine>('machines.getMachine', name), options, () => {
        const row = findMachine(context, name);
        return row && toMachine(context, row);
      }),
    listMachines: (query, options) =>
      call(lists<Machine>('machines.listMachines', ''), options, () => {
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
      call(finds<MachineReport>('machines.report', name), options, () => {
        const row = requireMachine(context, name);
        return reportOf(context, row, factsOf(row));
      }),
    console: (name, lines, options) =>
      call(
        reads<readonly string[]>('machines.console', name, () => []),
        options,
        () => {
          if (!Number.isInteger(lines) || lines < 1)
            throw invalid(`At least 1 line must be asked for, not ${lines}.`);
          return consoleOf(context, requireMachine(context, name), name).slice(-lines);
        },
      ),
    runCommand: (name, command, options) =>
      call(
        {
          ...reads<MachineCommandResult>('machines.runCommand', name, () => answerScript('', noShell)),
          writes: true,
        },
        options,
        () => runCommand(context, name, command),
      ),
    stopMachine: (name, options) =>
      call(writes('machines.stopMachine', name), options, (bend) => setPower(context, name, 'stopped', bend)),
    startMachine: (name, options) =>
      call(writes('machines.startMachine', name), options, (bend) =>
        setPower(context, name, 'running', bend),
      ),
    deleteMachine: (name, options) =>
      call(writes('machines.deleteMachine', name), options, (bend) => {
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

const noShell = { hostname: '', machineId: '' };

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
    'SELECT diskDigest, diskBytes, traits FROM sealedDisk WHERE digest = ? LIMIT 1',
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
