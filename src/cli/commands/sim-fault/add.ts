// Order a fault.
import { type FaultKind, faultKinds } from '../../../domain/sim/fault-kind.ts';
import { argument, type CommandSpec, readCount, text } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Order a fault at a call of the simulated provider',
  args: [
    { name: 'CALL', what: 'ROLE.METHOD, e.g. pools.createPool; * stands for any text' },
    { name: 'KIND', what: faultKinds.join(', ') },
  ],
  flags: {
    name: { what: 'only calls about the thing of this name', value: 'NAME' },
    after: { what: 'how many fitting calls go well first (default: 0)', value: 'N' },
    count: { what: 'how many fitting calls it strikes (default: 1)', value: 'N' },
    ms: { what: "how long it takes, in the simulation's time", value: 'MS' },
  },
  examples: [
    ['imago sim fault add pools.setCapacity fails', 'the next scaling fails'],
    ['imago sim fault add gallery.createVersion reply-lost', 'it happens, but nobody hears of it'],
  ],
  async run(invocation) {
    const kind = argument(invocation, 'KIND') as FaultKind;
    if (!faultKinds.includes(kind))
      throw usage(`KIND is one of ${faultKinds.join(', ')}, not ${JSON.stringify(kind)}.`, 'sim fault add');
    const client = await invocation.client();
    const name = text(invocation, 'name');
    const fault = await client.call('addFault', {
      body: {
        call: argument(invocation, 'CALL'),
        kind,
        ...(name === undefined ? {} : { name }),
        ...(text(invocation, 'after') === undefined ? {} : { after: readCount(invocation, 'after') }),
        ...(text(invocation, 'count') === undefined ? {} : { count: readCount(invocation, 'count') }),
        ...(text(invocation, 'ms') === undefined ? {} : { ms: readCount(invocation, 'ms') }),
      },
    });
    invocation.out.thing(fault, String(fault.id), () => [`Fault ${fault.id} waits at ${fault.call}`]);
  },
};
