// Commands for machines that do not belong to a pool.
import { keyValueLines } from '../output/table.ts';
import { group, list, show } from '../run/builders.ts';

const machineArgument = { name: 'MACHINE', description: 'Name of the machine' };

export const command = group({
  list: list('listMachines', {
    summary: 'List machines that do not belong to a pool',
    details: 'Lists the machines of running tests, and those that a failed test kept for debugging.',
    examples: [['imago machine list', 'List all standalone machines']],
    columns: [
      'name',
      'provider',
      'state',
      'power',
      ['image', ({ image, version }) => `${image}:${version}`],
      'firmware',
      ['created', 'createdAt'],
    ],
  }),
  show: show('showMachine', {
    summary: 'Show a standalone machine',
    details: '`imago node console`, `imago node timeline`, and `imago node shell` also accept its name.',
    args: [machineArgument],
    examples: [['imago machine show test-4f1a-1', 'Show one machine']],
    lines: ({ error, ...machine }) =>
      keyValueLines({ ...machine, error: error && `${error.message} (${error.code})` }),
  }),
});
