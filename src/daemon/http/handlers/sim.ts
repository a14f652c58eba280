// The simulated provider.
import { matches } from '../../../cloud/faults/faults.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';
import { quote } from '../../../domain/value/quote.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import type { Fault, FaultSpec, SimControl } from '../../../ports/provider/sim-control.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

export const simHandlers = {
  listFaults: async ({ context }) => ({ items: await requireSim(context).listFaults() }),
  showSimTime: ({ context }) => requireSim(context).time(),
  async addFault({ context, body }) {
    const sim = requireSim(context);
    const spec = JSON.parse(JSON.stringify(body)) as FaultSpec;
    requireCall(context, spec.call);
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

/** Refuses a fault that no call of the provider would ever meet. */
function requireCall({ providers }: DaemonContext, call: string): void {
  const roles = Object.entries(providers.get('sim') ?? {}).filter(([, role]) => typeof role === 'object');
  const known = roles.flatMap(([role, methods]) => Object.keys(methods).map((method) => `${role}.${method}`));
  if (known.some((name) => matches(call, name))) return;
  throw new ImagoError('input-invalid', `The provider has no call ${quote(call)}.`, {
    hint: didYouMean(call, known) ?? 'Write role and method, for example `pools.setModel` or `gallery.*`.',
  });
}

async function requireFault(sim: SimControl, id: string): Promise<Fault> {
  const fault = (await sim.listFaults()).find((known) => String(known.id) === id);
  if (fault !== undefined) return fault;
  throw new ImagoError('fault-not-found', `There is no fault ${id}.`, {
    hint: 'See `imago sim fault list`.',
  });
}
