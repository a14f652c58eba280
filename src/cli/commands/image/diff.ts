// What differs between two versions.

import { findVersion } from '../../input/find-version.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

const what = 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST';

export const command: CommandSpec = {
  summary: 'Tell what differs between two versions',
  details: 'Packages, files, units, settings, sizes and container images, read from the disks themselves.',
  args: [
    { name: 'BEFORE', what, completes: 'image' },
    { name: 'AFTER', what, completes: 'image' },
  ],
  examples: [['imago image diff node:production node:staging', 'what the next promotion would change']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await findVersion(client, argument(invocation, 'BEFORE'));
    const query = { to: argument(invocation, 'AFTER') };
    const found = await client.call('diffVersions', { path, query }, { signal: invocation.signal });
    const { text, ...rest } = found;
    invocation.out.thing(rest, found.after, () => [text.trimEnd()]);
  },
};
