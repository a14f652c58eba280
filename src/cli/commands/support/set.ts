// Set the end of support.

import { facts } from '../../output/table.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Set the end of support of a Kubernetes line, an image or a version',
  details: 'Warnings come 90, 30 and 7 days ahead; afterwards the version is deprecated. Nothing is deleted.',
  args: [
    { name: 'PRODUCT', what: '`kubernetes` or `image`' },
    { name: 'LINE', what: '1.37, node or node:1.34.2' },
  ],
  flags: {
    ends: { what: 'the last day', value: 'YYYY-MM-DD', required: true },
    note: { what: 'where the date is from', value: 'TEXT' },
    ...writeFlags,
  },
  examples: [['imago support set kubernetes 1.37 --ends 2027-10-28', 'a line that the calendar lacks']],
  async run(invocation) {
    const note = text(invocation, 'note');
    await runWrite(invocation, {
      endpoint: 'setSupport',
      input: {
        body: {
          product: argument(invocation, 'PRODUCT'),
          line: argument(invocation, 'LINE'),
          endsOn: requiredText(invocation, 'ends'),
          ...(note === undefined ? {} : { note }),
        },
      },
      name: ({ product, line }) => `${product} ${line}`,
      lines: (set) => facts({ ...set }),
    });
  },
};
