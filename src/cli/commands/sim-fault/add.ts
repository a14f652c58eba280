// Order a fault.
import { type FaultKind, faultKinds } from '../../../domain/sim/fault-kind.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, readOptionalCount, text } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Order a fault at a call of the simulated provider',
  args: [
    { name: 'CALL', what: 'ROLE.METHOD, e.g. pools.createPool; * stands for any text' },
    { name: 'KIND', what: faultKinds.join(', ') },
  ],
  flags: {
    name: { what: 'only calls about the thing of this name', value: 'NAME' },
    gallery: { what: 'only calls to this gallery, by the name that the provider has for it', value: 'NAME' },
    after: { what: 'how many fitting calls go well first (default: 0)', value: 'N' },
    count: { what: 'how many fitting calls it strikes (default: 1)', value: 'N' },
    ms: { what: "how long it takes, in the simulation's time", value: 'MS' },
    ...writeFlags,
  },
  examples: [
    ['imago sim fault add pools.setCapacity fails', 'the next scaling fails'],
    ['imago sim fault add gallery.createVersion reply-lost', 'it happens, but nobody hears of it'],
    ['imago sim fault add gallery.* fails --gallery public --count 1000', 'a gallery is down'],
  ],
  async run(invocation) {
    const kind = argument(invocation, 'KIND') as FaultKind;
    if (!faultKinds.includes(kind))
      throw usage(`KIND is one of ${faultKinds.join(', ')}, not ${JSON.stringify(kind)}.`, 'sim fault add');
    const name = text(invocation, 'name');
    const gallery = text(invocation, 'gallery');
    const after = readOptionalCount(invocation, 'after');
    const count = readOptionalCount(invocation, 'count');
    const ms = readOptionalCount(invocation, 'ms');
    await runWrite(invocation, {
      endpoint: 'addFault',
      input: {
        body: {
          call: argument(invocation, 'CALL'),
          kind,
          ...(name === undefined ? {} : { name }),
          ...(gallery === undefined ? {} : { gallery }),
          ...(after === undefined ? {} : { after }),
          ...(count === undefined ? {} : { count }),
          ...(ms === undefined ? {} : { ms }),
        },
      },
      name: ({ id }) => String(id),
      lines: ({ id, call }) => [`Fault ${id} waits at ${call}`],
    });
  },
};
