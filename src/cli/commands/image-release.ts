// End a hold.
import { argument, type CommandSpec } from '../command.ts';
import { exactVersion } from '../exact-version.ts';

export const command: CommandSpec = {
  summary: 'End the hold of a version',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION or NAME@sha256:DIGEST', completes: 'image' }],
  examples: [['imago image release node:1.34.2', 'the rules of retention count again']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    const held = await client.call('releaseVersion', { path });
    invocation.out.thing(held, `${held.image}:${held.version}`, () => [
      `${held.image}:${held.version} is no longer held`,
    ]);
  },
};
