// Write everything Imago remembers to a file.

import { writeBeside } from '../output/write-atomically.ts';
import { argument, type CommandSpec } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Write everything Imago remembers to a file',
  details:
    'Holds the whole database, also operations half-way; carries it to another PostgreSQL or major version.',
  args: [{ name: 'FILE', what: 'where to write; - for standard output', completes: 'file' }],
  examples: [['imago backup imago.backup', 'before an upgrade']],
  async run(invocation) {
    const client = await invocation.client();
    const file = argument(invocation, 'FILE');
    const bytes = await writeBeside(file, await client.backup({ signal: invocation.signal }));
    if (file === '-') return;
    invocation.out.thing({ file, bytes }, file, () => [`Wrote ${file}, ${bytes} bytes`]);
  },
};
