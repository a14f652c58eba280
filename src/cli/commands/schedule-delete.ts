// End a schedule.
import { argument, type CommandSpec } from '../command.ts';

export const command: CommandSpec = {
  summary: 'End a schedule',
  args: [{ name: 'NAME', what: 'the schedule' }],
  examples: [['imago schedule delete nightly', 'it fires no more']],
  async run(invocation) {
    const client = await invocation.client();
    const schedule = await client.call('deleteSchedule', {
      path: { schedule: argument(invocation, 'NAME') },
    });
    invocation.out.thing(schedule, schedule.name, () => [`Schedule ${schedule.name} is ended`]);
  },
};
