// Forget a gallery.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Forget a gallery; what it holds stays there',
  args: [{ name: 'NAME', what: 'the gallery' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [['imago gallery remove old', 'asks first; no more copies go there']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'removeGallery',
      input: { path: { gallery: argument(invocation, 'NAME') } },
      irreversible: true,
      name: ({ name }) => name,
      lines: ({ name }) => [`Gallery ${name} is forgotten; what it holds is still there`],
    });
  },
};
