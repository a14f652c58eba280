// Order a fault.
import { argument, type CommandSpec, readCount, text } from '../command.ts';
import { usage } from '../parse.ts';

const modes = [
  'fail',
  'fail-but-done',
  'succeed-but-not-done',
  'reply-lost',
  'hang',
  'throttle',
  'slow',
  'fail-later',
  'die-before',
  'die-after',
] as const;

export const command: CommandSpec = {
  summary: 'Order a fault at a call of the simulated provider',
  args: [
    { name: 'CALL', what: 'ROLE.METHOD, e.g. pools.createPool; * stands for any' },
    { name: 'MODE', what: modes.join(', ') },
  ],
  flags: {
    name: { what: 'only calls about the thing of this name', value: 'NAME' },
    skip: { what: 'how many fitting calls go well first (default: 0)', value: 'N' },
    times: { what: 'how many fitting calls it strikes (default: 1)', value: 'N' },
  },
  examples: [
    ['imago sim fault add pools.setCapacity fail', 'the next scaling fails'],
    ['imago sim fault add gallery.createVersion reply-lost', 'it happens, but nobody hears of it'],
  ],
  async run(invocation) {
    const mode = argument(invocation, 'MODE') as (typeof modes)[number];
    if (!modes.includes(mode))
      throw usage(`MODE is one of ${modes.join(', ')}, not ${JSON.stringify(mode)}.`, 'sim fault add');
    const client = await invocation.client();
    const name = text(invocation, 'name');
    const fault = await client.call('addFault', {
      body: {
        call: argument(invocation, 'CALL'),
        mode,
        ...(name === undefined ? {} : { name }),
        ...(text(invocation, 'skip') === undefined ? {} : { skip: readCount(invocation, 'skip') }),
        ...(text(invocation, 'times') === undefined ? {} : { times: readCount(invocation, 'times') }),
      },
    });
    invocation.out.thing(fault, fault.id, () => [`Fault ${fault.id} waits at ${fault.call}`]);
  },
};
