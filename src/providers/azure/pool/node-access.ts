// Consoles and timelines of nodes in Azure, read through boot diagnostics. There is no way in.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { latestKernelStart, makeTimeline } from '../../../domain/node/timeline.ts';
import type { NodeAccess } from '../../../ports/provider/access.ts';
import { at } from '../arm/address.ts';
import type { AzureContext } from '../context.ts';
import { addressOf, listInstances } from './nodes.ts';
import { isPool, type ScaleSet } from './scale-set.ts';
import { readConsole, type SerialConsole } from './serial-console.ts';

const followMs = 10_000;
const readMs = 120_000;

export function azureAccess(context: AzureContext): NodeAccess {
  const { arm, clock } = context;

  async function said(machineId: string, signal = AbortSignal.timeout(readMs)): Promise<SerialConsole> {
    const sets = await arm.list<ScaleSet>(at('virtualMachineScaleSets'), signal);
    for (const { name } of sets.filter(isPool)) {
      const nodes = await listInstances(context, name, signal);
      const node = nodes.find(({ properties }) => properties.vmId === machineId);
      if (node !== undefined) return readConsole(context, addressOf(name, node), machineId, signal);
    }
    throw new ImagoError('machine-not-found', `No pool in Azure has the machine ${machineId}.`);
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
    run: async () => refuse('Imago cannot run commands on nodes in Azure.'),
    openShell: async () => refuse('Nodes in Azure have no shell that Imago can open.'),
  };
}

function refuse(message: string): never {
  throw new ImagoError('provider-lacks', message, { hint: '`imago node console` shows what a node writes.' });
}
