// All schedules.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List operations that start by the clock',
  examples: [['imago schedule list', 'what runs when']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listSchedules', {}), (item) => item.name, {
      name: (item) => item.name,
      cron: (item) => item.cron,
      zone: (item) => item.timeZone,
      kind: (item) => item.kind,
      subject: (item) => item.subject,
      next: (item) => item.nextAt,
      last: (item) => item.lastFiredAt,
      stopped: (item) => item.stoppedWhy,
    });
  },
};
