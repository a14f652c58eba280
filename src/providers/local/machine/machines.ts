// Single local machines.
import { randomUUID } from 'node:crypto';
import { admit, change, look } from '../../../cloud/state/call.ts';
import { isoTime } from '../../../cloud/state/cloud.ts';
import { isGeneralized } from '../../../cloud/state/gallery-rows.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { busy, conflict, invalid, notFound } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import { checkName } from '../../../domain/value/name.ts';
import type {
  Machine,
  MachineCommand,
  MachineCommandResult,
  MachineSpec,
  Machines,
} from '../../../ports/provider/machines.ts';
import { findManifest } from '../disk/stored-disk.ts';
import type { LocalContext } from '../state/context.ts';
import { machineHealth } from '../state/machine-health.ts';
import {
  changeMachine,
  diskName,
  type MachineRow,
  machineError,
  machinePower,
  machineState,
  memoryClaims,
  newMachine,
  switchPower,
  toReport,
} from '../state/machine-rows.ts';
import { readSize } from '../state/machine-size.ts';
import { requireMemory } from '../state/memory.ts';

export function localMachines(context: LocalContext): Machines {
  const { world, work, host, board } = context;
  const setPower = async (name: string, to: 'running' | 'stopped', options: Parameters<typeof look>[1]) => {
    const machineId = await change(context, `machine ${name}`, options, () => {
      const row = requireMachine(world, name);
      if (row.deleting === 1) throw busy(`Machine ${name} is being deleted.`);
      const columns = switchPower(context, row, to, `Machine ${name}`);
      if (columns !== undefined) changeMachine(world, row.machineId, columns);
      return row.machineId;
    });
    work.machine(machineId);
  };
  return {
    async createMachine(spec, options) {
      const what = `machine ${spec.name}`;
      admit(context, what, options);
      const sealed = await findManifest(context.store, spec.digest);
      const machineId = await change(context, what, options, () => createMachine(context, spec, sealed));
      if (machineId !== undefined) work.machine(machineId);
    },
    getMachine: (name, options) =>
      look(context, options, () => {
        const row = findMachine(world, name);
        return row && toMachine(context, row);
      }),
    listMachines: (query, options) =>
      look(context, options, () => {
        const rows = world.all<MachineRow>(
          'SELECT * FROM machine WHERE pool IS NULL AND name > ? ORDER BY name LIMIT ?',
          query.cursor ?? '',
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
        const row = requireMachine(world, name);
        const said = board.report(row.machineId);
        return said && toReport(row, said);
      }),
    async console(name, lines, options) {
      if (!Number.isInteger(lines) || lines < 1) {
        throw invalid(`At least 1 line must be asked for, not ${lines}.`);
      }
      const { machineId } = await look(context, options, () => requireMachine(world, name));
      return host.console(machineId, lines);
    },
    async runCommand(name, command, options) {
      if (!(command.timeoutMs > 0))
        throw invalid(`A command must have some time, not ${command.timeoutMs} ms.`);
      const row = await change(context, `a command in machine ${name}`, options, () =>
        requireMachine(world, name),
      );
      if (machinePower(context, row) !== 'running') throw busy(`Machine ${name} does not run.`);
      return runCommand(context, row, command, options.signal);
    },
    stopMachine: (name, options) => setPower(name, 'stopped', options),
    startMachine: (name, options) => setPower(name, 'running', options),
    async deleteMachine(name, options) {
      const machineId = await change(context, `the end of machine ${name}`, options, () => {
        const row = findMachine(world, name);
        if (row !== undefined) changeMachine(world, row.machineId, { deleting: 1 });
        return row?.machineId;
      });
      if (machineId !== undefined) work.machine(machineId);
    },
  };
}

/** The machine to work on; `undefined` when it is there already. */
function createMachine(
  context: LocalContext,
  spec: MachineSpec,
  sealed: { readonly digest: string | null } | undefined,
): string | undefined {
  const { world } = context;
  checkName('node', spec.name);
  if (spec.region !== undefined) throw invalid('The local provider has no regions.');
  const { memoryMb } = readSize(spec.size);
  const text = canonicalJson({ ...spec });
  const found = findMachine(world, spec.name);
  if (found !== undefined) {
    if (found.deleting === 1) throw busy(`Machine ${spec.name} is being deleted.`);
    if (found.spec === text) return undefined;
    throw conflict(`Machine ${spec.name} exists and is another.`);
  }
  const digest = (sealed ?? usableVersion(context, spec, context.homeRegion))?.digest;
  if (!digest) {
    throw notFound(`There is neither a sealed disk ${spec.digest} nor ${spec.image}:${spec.version}.`);
  }
  requireMemory(context.memory, memoryClaims(context), { count: 1, memoryMb });
  const row = newMachine({
    machineId: randomUUID(),
    pool: null,
    name: spec.name,
    ordinal: 0,
    spec: text,
    firmware: spec.firmware,
    generalized: isGeneralized(context, spec) ? 1 : 0,
    model: null,
    source: { digest },
    now: world.time(),
  });
  world.insert('machine', { ...row });
  return row.machineId;
}

async function runCommand(
  { host }: LocalContext,
  { machineId, name }: MachineRow,
  { script, timeoutMs }: MachineCommand,
  signal: AbortSignal,
): Promise<MachineCommandResult> {
  try {
    const { exitCode, stdout, stderr, truncated } = await host.runCommand(machineId, script, {
      timeoutMs,
      signal,
    });
    return { exitCode, stdout, stderr, truncated };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof ImagoError)) throw thrown;
    if (thrown.code === 'machine-not-running') throw busy(`Machine ${name} does not run.`);
    if (thrown.code !== 'machine-command-timeout') throw thrown;
    throw new ImagoError('provider-timeout', thrown.message, { cause: thrown });
  }
}

function findMachine(world: World, name: string): MachineRow | undefined {
  return world.get<MachineRow>('SELECT * FROM machine WHERE pool IS NULL AND name = ?', name);
}

function requireMachine(world: World, name: string): MachineRow {
  const found = findMachine(world, name);
  if (found === undefined) throw notFound(`There is no machine ${name}.`);
  return found;
}

function toMachine(context: LocalContext, row: MachineRow): Machine {
  const error = machineError(row);
  const { trouble } = machineHealth(context, row);
  return {
    ...(JSON.parse(row.spec ?? '') as MachineSpec),
    machineId: row.machineId,
    state: machineState(row),
    power: machinePower(context, row),
    createdAt: isoTime(row.createdAt),
    ...(row.disk > 0 ? { osDisk: diskName(row) } : {}),
    ...(trouble === undefined ? {} : { trouble }),
    ...(error === undefined ? {} : { error }),
  };
}
