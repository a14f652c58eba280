// End a hold.

import { exactVersion } from '../../input/exact-version.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End the hold of a version',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION or NAME@sha256:DIGEST', completes: 'image' }],
  flags: writeFlags,
  examples: [['imago image release node:1.34.2', 'the rules of retention count again']],
  async run(invocation) {
    const path = await exactVersion(await invocation.client(), argument(invocation, 'IMAGE'));
    await runWrite(invocation, {
      endpoint: 'releaseVersion',
      input: { path },
      name: ({ image, version }) => `${image}:${version}`,
      lines: ({ image, version }) => [`${image}:${version} is no longer held`],
    });
  },
};
