// Keep a version from being deleted.

import { exactVersion } from '../../input/exact-version.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Keep a version from being deleted, whatever the rules say',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' }],
  flags: { reason: { what: 'why it must stay', value: 'TEXT', required: true }, ...writeFlags },
  examples: [['imago image hold node:1.34.2 --reason "audit 2026"', 'prune leaves it alone']],
  async run(invocation) {
    const path = await exactVersion(await invocation.client(), argument(invocation, 'IMAGE'));
    await runWrite(invocation, {
      endpoint: 'holdVersion',
      input: { path, body: { reason: requiredText(invocation, 'reason') } },
      name: ({ image, version }) => `${image}:${version}`,
      lines: ({ image, version, reason }) => [`${image}:${version} is held: ${reason}`],
    });
  },
};
