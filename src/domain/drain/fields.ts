// How operations that take nodes away treat their pods.
import * as z from 'zod';
import { parseDuration } from '../value/duration.ts';
import { checkedText } from '../value/fields.ts';

export const drainFields = {
  drainTimeout: checkedText(parseDuration)
    .default('30m')
    .describe('How long pods can take to leave a node, such as 30m.'),
  force: z.boolean().default(false).describe('Also evict pods that nothing creates again.'),
  deleteEmptydirData: z
    .boolean()
    .default(false)
    .describe('Also evict pods that lose data in emptyDir volumes.'),
  noDrain: z.boolean().default(false).describe('Do not drain: pods stop without being evicted.'),
};

const drainSettings = z.object(drainFields);
export type DrainSettings = z.output<typeof drainSettings>;
