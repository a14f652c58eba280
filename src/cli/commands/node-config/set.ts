// Send a config to nodes that run.

import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import { operationFlags } from '../../run/run-operation.ts';
import { setNodeConfig } from '../../run/set-node-config.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Change the config of a pool and its nodes, or of one node, in place',
  details:
    'One node tries it first; when a node refuses it, everything is put back. A node with a config of its own keeps what differs from its pool, and takes the rest. Hotfixes stay unless the file has `hotfixes`. What costs a drain or a new disk waits on the nodes and is listed. Secrets stand in the file by their names, as `secret:NAME`.',
  args: [
    { name: 'TARGET', what: 'a pool or a node', completes: 'pool' },
    { name: 'FILE', what: 'the node config, YAML or JSON', completes: 'file' },
  ],
  flags: operationFlags,
  examples: [
    ['imago node config set web web.yaml --dry-run', 'what would change, and what each change costs'],
    ['imago node config set web-000001 web.yaml', 'one node only'],
  ],
  async run(invocation) {
    const { document } = await readNodeConfigFile(argument(invocation, 'FILE'), {
      unknown: 'refuse',
      secrets: 'named',
    });
    await setNodeConfig(invocation, argument(invocation, 'TARGET'), { document });
  },
};
