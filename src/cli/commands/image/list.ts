// Images, or the versions of one.
import { formatBytes } from '../../../domain/value/bytes.ts';
import { simulatedText } from '../../output/simulated-text.ts';
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List images, or the versions of one',
  args: [{ name: 'NAME', what: 'an image', optional: true, completes: 'image' }],
  flags: pageFlags,
  examples: [
    ['imago image list', 'all images'],
    ['imago image list node -o name', 'the versions of one, newest first, for a script'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const image = invocation.args.NAME;
    const query = pageQuery(invocation);
    if (image === undefined) {
      invocation.out.list(await client.call('listImages', { query }), (item) => item.name, {
        name: (item) => item.name,
        os: (item) => item.os,
        arch: (item) => item.architecture,
        numbering: (item) => item.numbering,
        simulated: simulatedText,
        created: (item) => item.createdAt,
      });
      return;
    }
    const versions = await client.call('listVersions', { path: { image }, query });
    invocation.out.list(versions, (item) => `${item.image}:${item.version}`, {
      version: (item) => item.version,
      state: (item) => item.state,
      kubernetes: (item) => item.kubernetes,
      origin: (item) => item.origin.kind,
      simulated: simulatedText,
      size: (item) => formatBytes(item.sizeBytes),
      digest: (item) => item.digest.slice(0, 19),
      created: (item) => item.createdAt,
    });
  },
};
