// The simulated provider.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Fault, FaultSpec, SimControl } from '../../../ports/provider/sim-control.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

export const simHandlers = {
  listFaults: async ({ context }) => ({ items: await requireSim(context).listFaults() }),
  showSimTime: ({ context }) => requireSim(context).time(),
  async addFault({ context, body }) {
    const sim = requireSim(context);
    const spec = JSON.parse(JSON.stringify(body)) as FaultSpec;
    return {
      subject: 'provider/sim',
      plan: async () => [`Let ${spec.call} go wrong: ${spec.kind}.`],
      run: () => sim.addFault(spec),
    };
  },
  async removeFault({ context, path }) {
    const sim = requireSim(context);
    const fault = await requireFault(sim, path.fault);
    return {
      subject: 'provider/sim',
      before: { ...fault } satisfies Json,
      plan: async () => [`Remove fault ${fault.id} (${fault.call}: ${fault.kind}).`],
      async run() {
        await sim.removeFault(fault.id);
        return fault;
      },
      record: () => null,
    };
  },
  async setSimTime({ context, body }) {
    const sim = requireSim(context);
    const { scale, advanceMs } = body;
    if (scale === undefined && advanceMs === undefined) {
      throw new ImagoError('input-invalid', 'Give `scale`, `advanceMs` or both.');
    }
    return {
      subject: 'provider/sim',
      before: { ...(await sim.time()) },
      plan: async () => [
        ...(scale === undefined ? [] : [`Let ${scale} s pass there in one second.`]),
        ...(advanceMs === undefined ? [] : [`Move the time there forward by ${advanceMs / 1000} s.`]),
      ],
      run: () =>
        sim.setTime({
          ...(scale === undefined ? {} : { scale }),
          ...(advanceMs === undefined ? {} : { advanceMs }),
        }),
    };
  },
} satisfies Partial<Handlers>;

function requireSim({ sim }: DaemonContext): SimControl {
  if (sim !== undefined) return sim;
  throw new ImagoError('provider-lacks', 'The simulated provider is not loaded in this daemon.');
}

async function requireFault(sim: SimControl, id: string): Promise<Fault> {
  const fault = (await sim.listFaults()).find((known) => String(known.id) === id);
  if (fault !== undefined) return fault;
  throw new ImagoError('fault-not-found', `There is no fault ${id}.`, {
    hint: 'See `imago sim fault list`.',
  });
}
