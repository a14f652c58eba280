// What a backup held.
import * as z from 'zod';
import { timestamp } from './common.ts';

export const restoreReport = z
  .object({
    madeAt: timestamp,
    madeBy: z.string().describe('The version of Imago that made the backup.'),
    tables: z.int(),
    rows: z.int(),
  })
  .meta({ id: 'RestoreReport' });
