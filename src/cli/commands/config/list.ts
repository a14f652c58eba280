// List the settings.
import { listSettings } from '../../run/settings.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List the settings of the daemon',
  examples: [['imago config list', 'see what is set, and what takes effect at the next start']],
  async run(invocation) {
    const items = await listSettings();
    invocation.out.list({ items }, ({ name }) => name, {
      name: ({ name }) => name,
      value: ({ value }) => value?.toString(),
      effective: ({ effective }) => effective?.toString(),
      pending: ({ pending }) => (pending ? 'after a restart' : undefined),
      what: ({ what }) => what,
    });
  },
};
