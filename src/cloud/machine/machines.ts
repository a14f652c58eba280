// Single machines.

import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../domain/error/refusals.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import { checkName } from '../../domain/value/name.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Machine, MachineSpec, Machines } from '../../ports/provider/machines.ts';
import { admit, change, look } from '../state/call.ts';
import { type Bend, type Cloud, isoTime, regionNamed, stillThere } from '../state/cloud.ts';
import { countRows, isGeneralized } from '../state/gallery-rows.ts';
import {
  changeMachine,
  createMachineRow,
  diskName,
  machineError,
  machineState,
  switchPower,
} from '../state/machine-rows.ts';
import { pageByName } from '../state/paging.ts';
import { forgetGoneMachines } from '../state/pool-rows.ts';
import type { DiskContent, MachineRow } from '../state/rows.ts';
import { requireSnapshot } from '../state/snapshot-rows.ts';
import type { World } from '../state/state-file.ts';
import { usableVersion } from '../state/version-source.ts';

export function cloudMachines(cloud: Cloud): Machines {
  const { world, executor } = cloud;

  /** Changes the machine as `edit` says, and starts what is due then. */
  async function onMachine(
    name: string,
    options: CallOptions,
    edit: (bend: Bend) => {
      readonly row: MachineRow | undefined;
      readonly columns?: Partial<MachineRow> | undefined;
    },
  ): Promise<void> {
    const row = await change(cloud, `machine ${name}`, options, (bend) => {
      const edited = edit(bend);
      if (edited.row !== undefined) changeMachine(world, edited.row.machineId, edited.columns ?? {});
      return edited.row;
    });
    if (row !== undefined) executor.workOnMachines([row.machineId]);
  }

  function setPower(name: string, to: MachineRow['powerTo'], options: CallOptions): Promise<void> {
    return onMachine(name, options, (bend) => {
      const row = requireMachine(world, name);
      return { row, columns: switchPower(cloud, row, to, `Machine ${name}`, bend) };
    });
  }

  return {
    async createMachine(spec, options) {
      admit(cloud, `machine ${spec.name}`, options);
      const sealed = await executor.findSealed(spec.digest);
      await onMachine(spec.name, options, (bend) => ({ row: createMachine(cloud, spec, sealed, bend) }));
    },
    getMachine: (name, options) =>
      look(cloud, options, () => {
        const row = findMachine(world, name);
        return row && toMachine(cloud, row);
      }),
    listMachines: (query, options) =>
      look(cloud, options, () => {
        const single = `machine WHERE pool IS NULL AND ${stillThere}`;
        return pageByName(world, query, single, [world.time()], (row: MachineRow) => toMachine(cloud, row));
      }),
    report: (name, options) => look(cloud, options, () => executor.report(requireMachine(world, name))),
    async console(name, lines, options) {
      if (!Number.isInteger(lines) || lines < 1) {
        throw invalid(`At least 1 line must be asked for, not ${lines}.`);
      }
      return executor.console(await look(cloud, options, () => requireMachine(world, name)), lines);
    },
    async runCommand(name, command, options) {
      if (!cloud.abilities.runCommand) throw lacks('The provider cannot run commands in machines.');
      if (!(command.timeoutMs > 0)) {
        throw invalid(`A command must have some time, not ${command.timeoutMs} ms.`);
      }
      const row = await change(cloud, `machine ${name}`, options, () => requireMachine(world, name));
      if (row.deletedAt !== null) throw busy(`Machine ${name} is being deleted.`);
      return executor.runCommand(row, command, options.signal);
    },
    stopMachine: (name, options) => setPower(name, 'stopped', options),
    startMachine: (name, options) => setPower(name, 'running', options),
    deleteMachine: (name, options) =>
      onMachine(name, options, (bend) => {
        const row = findMachine(world, name);
        if (row === undefined || row.deletedAt !== null || bend.failure !== undefined)
          return { row: undefined };
        const goneAt = executor.endOf('machineDelete', name, bend);
        return { row, columns: { deletedAt: world.time(), goneAt } };
      }),
  };
}

/** Returns the new machine; `undefined` if there was one that can be adopted. */
function createMachine(
  cloud: Cloud,
  spec: MachineSpec,
  sealed: DiskContent | undefined,
  bend: Bend,
): MachineRow | undefined {
  const { world, executor } = cloud;
  const { name, firmware } = spec;
  checkName('node', name);
  const region = regionNamed(cloud, spec.region);
  executor.checkSize(spec.size);
  const text = canonicalJson({ ...spec });
  const found = findMachine(world, name);
  if (found !== undefined) {
    if (found.deletedAt !== null) throw busy(`Machine ${name} is being deleted.`);
    if (found.spec === text) return undefined;
    throw conflict(`Machine ${name} exists and is different.`);
  }
  const version = sealed ?? usableVersion(cloud, spec, region);
  const source =
    version && spec.snapshot !== undefined ? snapshotOver(world, version, spec.snapshot) : version;
  if (source === undefined) {
    throw notFound(
      `There is neither a sealed disk ${spec.digest} nor ${spec.image}:${spec.version} in ${region}.`,
    );
  }
  forgetGoneMachines(world);
  checkLimit('machines', countRows(world, 'machine WHERE pool IS NULL') + 1, cloud.limits.machines);
  executor.requireRoom(1, spec.size);
  const machineId = executor.machineIds('machine')(name);
  const given = {
    ...{ machineId, pool: null, name, ordinal: 0, region, zone: null, spec: text, firmware },
    generalized: Number(spec.build !== true && isGeneralized(cloud, spec)),
  };
  const imaging = { kind: 'machineCreate', source, model: null, batch: 0, bend } as const;
  return createMachineRow(cloud, given, imaging);
}

/** The snapshot's bytes; on this host they are over the version's own. */
function snapshotOver(world: World, version: DiskContent, name: string): DiskContent {
  const { diskBytes, traits } = requireSnapshot(world, name);
  return { ...version, diskBytes, traits };
}

function findMachine(world: World, name: string): MachineRow | undefined {
  return world.get<MachineRow>(
    `SELECT * FROM machine WHERE pool IS NULL AND name = ? AND ${stillThere}`,
    name,
    world.time(),
  );
}

function requireMachine(world: World, name: string): MachineRow {
  const found = findMachine(world, name);
  if (found === undefined) throw notFound(`There is no machine ${name}.`);
  return found;
}

export function toMachine({ world, executor }: Cloud, row: MachineRow): Machine {
  const now = world.time();
  const error = machineError(row, now);
  const { trouble } = executor.observe(row);
  return {
    ...(JSON.parse(row.spec ?? '') as MachineSpec),
    machineId: row.machineId,
    state: machineState(row, now),
    power: executor.power(row),
    createdAt: isoTime(row.createdAt),
    ...(row.disk > 0 ? { osDisk: diskName(row) } : {}),
    ...(trouble === undefined ? {} : { trouble }),
    ...(error === undefined ? {} : { error }),
  };
}
