// Take a fault back.
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Take a fault back',
  args: [{ name: 'FAULT', what: 'its id' }],
  examples: [['imago sim fault remove 3', 'it will not strike']],
  async run(invocation) {
    const client = await invocation.client();
    const fault = await client.call('removeFault', { path: { fault: argument(invocation, 'FAULT') } });
    invocation.out.thing(fault, String(fault.id), () => [`Fault ${fault.id} is taken back`]);
  },
};
