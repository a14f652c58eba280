// Machines of no pool, of every provider that has any.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import type { Machine, Machines } from '../../../ports/provider/machines.ts';
import type { Provider } from '../../../ports/provider/provider.ts';
import type { Call, Handlers } from '../endpoint/call.ts';

type View = ResponseOf<'showMachine'>;
type MachinesCall = Pick<Call<'listMachines' | 'showMachine'>, 'context' | 'limits' | 'signal'>;

const PAGE = 200;

export const machineHandlers = {
  async listMachines(call) {
    const items: View[] = [];
    for (const { provider, machines } of machineProviders(call)) {
      for await (const machine of allMachines(call, machines)) items.push(viewOf(provider, machine));
    }
    return { items };
  },
  async showMachine(call) {
    const { provider, machine } = await requireMachine(call, call.path.machine);
    return viewOf(provider, machine);
  },
  async deleteMachine(call) {
    const { provider, machines, machine } = await requireMachine(call, call.path.machine);
    const view = viewOf(provider, machine);
    return {
      subject: `machine/${machine.name}`,
      before: { image: view.image, version: view.version, state: view.state },
      plan: async () => [`Take machine ${machine.name} of provider ${provider.name} and its disk away.`],
      async run() {
        await machines.deleteMachine(machine.name, { ...options(call), epoch: call.context.epoch ?? 0 });
        return view;
      },
      record: () => null,
    };
  },
} satisfies Partial<Handlers>;

function machineProviders({ context }: MachinesCall): { provider: Provider; machines: Machines }[] {
  return [...context.providers.values()].flatMap((provider) =>
    provider.machines === undefined ? [] : [{ provider, machines: provider.machines }],
  );
}

function options({ limits, signal }: MachinesCall) {
  return { signal: AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]), epoch: 0 };
}

async function* allMachines(call: MachinesCall, machines: Machines): AsyncGenerator<Machine> {
  let cursor: string | undefined;
  do {
    const page = await machines.listMachines(
      { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      options(call),
    );
    yield* page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}

async function requireMachine(call: MachinesCall, name: string) {
  const known: string[] = [];
  for (const { provider, machines } of machineProviders(call)) {
    const machine = await machines.getMachine(name, options(call));
    if (machine !== undefined) return { provider, machines, machine };
    for await (const other of allMachines(call, machines)) known.push(other.name);
  }
  throw new ImagoError('machine-not-found', `There is no machine ${name}.`, {
    hint: didYouMean(name, known) ?? 'See `imago machine list`; machines of pools are nodes.',
  });
}

function viewOf(provider: Provider, machine: Machine): View {
  const { name, machineId, state, power, image, version, digest, size, firmware, createdAt } = machine;
  const { trouble, error } = machine;
  return {
    ...{ name, provider: provider.name as View['provider'], machineId, state, power },
    ...{ image, version, digest, size, firmware, createdAt },
    ...(trouble === undefined ? {} : { trouble }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  };
}
