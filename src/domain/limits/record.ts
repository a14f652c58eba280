// Limits as responses carry them.
import * as z from 'zod';
import { record } from '../value/fields.ts';

export const limit = record('Limit', 'A limit and its usage.', {
  place: z.string().describe('Provider, and its region if limits are per region.'),
  name: z.enum(['galleries', 'images', 'versions', 'versions-per-image', 'replicas-per-version', 'bytes']),
  used: z.number(),
  limit: z.number(),
  percent: z.number(),
  growthPerDay: z.number().optional(),
  reachedOn: z.string().optional().describe('Day on which it is reached at the current growth.'),
  advice: z.string().optional().describe('What to do, if action is needed.'),
});
export type LimitForecast = Omit<z.output<typeof limit>, 'place'>;
export type LimitUse = Pick<LimitForecast, 'name' | 'used' | 'limit'>;
export type LimitName = LimitUse['name'];
