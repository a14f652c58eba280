// The way into nodes in Azure: their serial console, read through boot diagnostics, and scripts in their userData.
import { randomUUID } from 'node:crypto';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { latestKernelStart, makeTimeline } from '../../../domain/node/timeline.ts';
import { splitWords } from '../../../domain/node-config/words.ts';
import type { NodeAccess } from '../../../ports/provider/access.ts';
import type { MachineCommandResult } from '../../../ports/provider/machines.ts';
import { at } from '../arm/address.ts';
import type { AzureContext } from '../context.ts';
import {
  addressOf,
  type Instance,
  isUniform,
  listInstances,
  powerOf,
  readUserData,
  writeUserData,
} from './nodes.ts';
import { isPool, type ScaleSet } from './scale-set.ts';
import { readConsole, type SerialConsole } from './serial-console.ts';

const followMs = 10_000;
const readMs = 120_000;
const answerMs = 5_000;

export function azureAccess(context: AzureContext): NodeAccess {
  const { arm, clock } = context;

  async function find(machineId: string, signal: AbortSignal) {
    const sets = await arm.list<ScaleSet>(at('virtualMachineScaleSets'), signal);
    for (const { name } of sets.filter(isPool)) {
      const nodes = await listInstances(context, name, signal);
      const node = nodes.find(({ properties }) => properties.vmId === machineId);
      if (node !== undefined) return { pool: name, node };
    }
    throw new ImagoError('machine-not-found', `No pool in Azure has the machine ${machineId}.`);
  }

  async function said(machineId: string, signal = AbortSignal.timeout(readMs)): Promise<SerialConsole> {
    const { pool, node } = await find(machineId, signal);
    return readConsole(context, addressOf(pool, node), machineId, signal);
  }

  return {
    console: async (machineId, lines) => (await said(machineId)).lines.slice(-lines),
    async *followConsole(machineId, count, signal) {
      let seen: number | undefined;
      while (!signal.aborted) {
        const { lines } = await said(machineId, signal);
        // Azure cuts the log at its beginning: then it is shown again.
        yield* lines.slice(seen === undefined ? -count : seen > lines.length ? 0 : seen);
        seen = lines.length;
        await clock.sleep(followMs, signal).catch(() => undefined);
      }
    },
    async timeline(machineId) {
      const { reports } = await said(machineId);
      const last = reports.at(-1);
      if (last === undefined) return undefined;
      const kernelAt = Math.min(...reports.map(latestKernelStart));
      const switchedOn = kernelAt + Math.min(0, ...last.timeline.map(({ ms }) => ms));
      return makeTimeline(last, new Date(switchedOn).toISOString(), kernelAt);
    },
    async run(machineId, { script, timeoutMs }, signal) {
      const { pool, node } = await find(machineId, signal);
      if (isUniform(node)) throw refuse('Azure gives a node of a uniform scale set no userData of its own.');
      if (powerOf(node) !== 'running') {
        throw new ImagoError('machine-not-running', `The machine ${machineId} is not running.`);
      }
      const name = node.instanceId ?? '';
      const { config, words } = splitWords(await readUserData(context, pool, node, signal));
      const id = randomUUID();
      try {
        const command = { id, script, timeoutMs };
        await writeUserData(context, name, config, { ...words, command }, signal);
        for (;;) {
          const { answers } = await readConsole(context, addressOf(pool, node), machineId, signal);
          const result = answers.map((json) => readAnswer(id, json)).find((one) => one !== undefined);
          if (result !== undefined) return result;
          await clock.sleep(answerMs, signal);
        }
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
        throw new ImagoError(
          'machine-command-timeout',
          `No answer of ${machineId} arrived on its console. The script may have run.`,
          { hint: 'Azure shows what a console says after up to a minute: allow more time.' },
        );
      } finally {
        await withdrawCommand(context, pool, node, id);
      }
    },
    openShell: async () => {
      throw refuse('Nodes in Azure have no shell that Imago can open.');
    },
  };
}

/**
 * Otherwise it would run again at the next start of the machine. A config, or a command of another caller, that was written
 * in the meantime stays.
 */
async function withdrawCommand(
  context: AzureContext,
  pool: string,
  node: Instance,
  id: string,
): Promise<void> {
  const signal = AbortSignal.timeout(readMs);
  const { config, words } = splitWords(await readUserData(context, pool, node, signal));
  const { command, ...others } = words;
  if (command?.id === id) await writeUserData(context, node.instanceId ?? '', config, others, signal);
}

/** Lenient: a node can write anything to its console. */
function readAnswer(wanted: string, json: string): MachineCommandResult | undefined {
  const { id, exitCode, stdout, stderr, truncated } = fieldsOf(json);
  if (id !== wanted || !Number.isSafeInteger(exitCode)) return undefined;
  return {
    exitCode: Number(exitCode),
    stdout: String(stdout),
    stderr: String(stderr),
    truncated: truncated === true,
  };
}

function fieldsOf(json: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

function refuse(message: string): ImagoError {
  return new ImagoError('provider-lacks', message, {
    hint: '`imago node console` shows what a node writes.',
  });
}
