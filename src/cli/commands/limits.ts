// How near each limit is.
import { formatBytes } from '../../domain/value/bytes.ts';
import type { CommandSpec } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show how near each limit is, when it is reached, and what to do',
  examples: [['imago limits', 'use, growth and the day of each']],
  async run(invocation) {
    const client = await invocation.client();
    const found = await client.call('showLimits');
    const amount = (name: string, value: number) => (name === 'bytes' ? formatBytes(value) : String(value));
    invocation.out.list(found, (item) => `${item.place}/${item.name}`, {
      place: (item) => item.place,
      limit: (item) => item.name,
      used: (item) => amount(item.name, item.used),
      of: (item) => amount(item.name, item.limit),
      percent: (item) => `${item.percent} %`,
      'a day': ({ name, growthPerDay }) =>
        growthPerDay === undefined ? undefined : amount(name, growthPerDay),
      reached: (item) => item.reachedOn,
      'what to do': (item) => item.advice,
    });
  },
};
