// Lists the limits and their usage.
import { formatBytes } from '../../domain/value/bytes.ts';
import { list } from '../run/builders.ts';

const amount = (name: string, value: number) => (name === 'bytes' ? formatBytes(value) : String(value));

export const command = list('showLimits', {
  examples: [['imago limits', 'Show usage, growth, and the forecast of each limit']],
  name: ({ place, name }) => `${place}/${name}`,
  columns: [
    'place',
    ['limit', 'name'],
    ['used', ({ name, used }) => amount(name, used)],
    ['of', ({ name, limit }) => amount(name, limit)],
    ['percent', ({ percent }) => `${percent} %`],
    [
      'a day',
      ({ name, growthPerDay }) => (growthPerDay === undefined ? undefined : amount(name, growthPerDay)),
    ],
    ['reached', 'reachedOn'],
    ['what to do', 'advice'],
  ],
});
