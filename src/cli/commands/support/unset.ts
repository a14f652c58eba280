// Take a date of support back.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Take a date of support back; the calendar counts again',
  args: [
    { name: 'PRODUCT', what: '`kubernetes` or `image`' },
    { name: 'LINE', what: '1.37, node or node:1.34.2' },
  ],
  flags: writeFlags,
  examples: [['imago support unset image node', 'the image has no date of its own any more']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'unsetSupport',
      input: { path: { product: argument(invocation, 'PRODUCT'), line: argument(invocation, 'LINE') } },
      name: ({ product, line }) => `${product} ${line}`,
      lines: ({ product, line }) => [`No date is set for ${product} ${line} any more`],
    });
  },
};
