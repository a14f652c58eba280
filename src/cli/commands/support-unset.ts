// Take a date of support back.
import { argument, type CommandSpec } from '../command.ts';

export const command: CommandSpec = {
  summary: 'Take a date of support back; the calendar counts again',
  args: [
    { name: 'PRODUCT', what: '`kubernetes` or `image`' },
    { name: 'LINE', what: '1.37, node or node:1.34.2' },
  ],
  examples: [['imago support unset image node', 'the image has no date of its own any more']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { product: argument(invocation, 'PRODUCT'), line: argument(invocation, 'LINE') };
    const gone = await client.call('unsetSupport', { path });
    invocation.out.thing(gone, `${gone.product} ${gone.line}`, () => [
      `No date is set for ${gone.product} ${gone.line} any more`,
    ]);
  },
};
