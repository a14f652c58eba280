// The version of Imago.

import { packageVersion } from '../input/package-version.ts';
import type { CommandSpec } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the version of Imago',
  examples: [['imago version', 'this command line; `imago status` tells the daemon']],
  async run(invocation) {
    const version = await packageVersion();
    invocation.out.thing({ version, node: process.version }, version, () => [
      `imago ${version} (node ${process.version})`,
    ]);
  },
};
