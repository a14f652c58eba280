// What changes between two node configs, and what it costs.
import { highestCost, planChanges } from '../../../domain/node-config/plan-changes.ts';
import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import { table } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List what changes on a node from one config to another, with the cost of each change',
  details:
    'Needs no daemon, and never shows a secret. For a pool that runs: `imago node config set --dry-run`.',
  args: [
    { name: 'BEFORE', what: 'the config that a node has', completes: 'file' },
    { name: 'AFTER', what: 'the config that it shall have', completes: 'file' },
  ],
  examples: [['imago node config diff old.yaml new.yaml', 'would this drain my nodes?']],
  async run(invocation) {
    const before = await readNodeConfigFile(argument(invocation, 'BEFORE'));
    const after = await readNodeConfigFile(argument(invocation, 'AFTER'));
    const changes = planChanges(before.config, after.config);
    const cost = highestCost(changes);
    invocation.out.thing({ cost: changes.length === 0 ? null : cost, changes }, cost, () =>
      changes.length === 0
        ? ['Nothing changes on a node.']
        : table(changes, { COST: (one) => one.cost, CHANGE: (one) => one.sentence }, invocation.out.style),
    );
  },
};
