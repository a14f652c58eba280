// Commands for the agent on images that were built without it.
import { formatBytes } from '../../domain/value/bytes.ts';
import { writeAtomically } from '../output/write-atomically.ts';
import { group, show } from '../run/builders.ts';
import { argument, type CommandSpec } from '../spec/command.ts';

const archive: CommandSpec = {
  summary: 'Write the archive of the agent to a file',
  details: 'Put it where machines can download it. `imago agent script` names its sha256.',
  args: [{ name: 'FILE', description: 'File to write, or - for standard output', completes: 'file' }],
  examples: [['imago agent archive agent.tar.gz', 'Write the archive, to be uploaded']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const client = await invocation.client();
    const { content } = await client.download('readAgent', {}, { signal: invocation.signal });
    const bytes = await writeAtomically(file, content, 0o644);
    if (file === '-') return;
    invocation.out.thing({ file, sizeBytes: bytes }, file, () => [`Wrote ${file}, ${formatBytes(bytes)}`]);
  },
};

const script = show('showAgentScript', {
  summary: 'Print the script that installs the agent on a plain image',
  details:
    'For cloud-init, as custom data. The script downloads the archive, compares its sha256, and starts the agent, which configures the node from its node config.',
  args: [{ name: 'URL', description: 'Address of the archive, for machines' }],
  examples: [
    ['imago agent script https://downloads.example.com/agent.tar.gz > custom-data', 'Write the custom data'],
  ],
  name: ({ script: text }) => text.trimEnd(),
  lines: ({ script: text }) => [text.trimEnd()],
});

export const command = group({ archive, script });
