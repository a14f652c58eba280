// Take a withdrawal back.

import { exactVersion } from '../../input/exact-version.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

interface Left {
  readonly image: string;
  readonly channel: string;
  readonly now: string | null;
}

export const command: CommandSpec = {
  summary: 'Take a withdrawal back, also one that is only planned',
  details:
    'The version is then what it was before. Channels stay where they went: move them back with `imago channel promote`.',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION or NAME@sha256:DIGEST', completes: 'image' }],
  flags: { reason: { what: 'why; kept for ever', value: 'TEXT', required: true }, ...operationFlags },
  examples: [['imago image restore node:1.34.2 --reason "it was the switch"', 'it can be used again']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    await runOperation(invocation, {
      endpoint: 'restoreVersion',
      input: { path, body: { why: requiredText(invocation, 'reason') } },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        `${result.image}:${result.version} is ${result.state}`,
        ...(result.left as readonly Left[]).map(
          ({ image, channel, now }) =>
            `${image}:${channel} ${now === null ? 'is empty' : `stays at ${now}`}; move it with \`imago channel promote ${image}:${result.version} --to ${channel}\``,
        ),
      ],
    });
  },
};
