// Prints the version of the command line.
import { packageVersion } from '../../../launcher/package.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  examples: [
    ['imago version', 'Print the version of this command line; `imago status` shows that of the daemon'],
  ],
  async run(invocation) {
    const version = packageVersion();
    invocation.out.thing({ version, node: process.version }, version, () => [
      `imago ${version} (node ${process.version})`,
    ]);
  },
};
