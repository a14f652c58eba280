// Machines that do not belong to a pool, such as those of tests.
import * as z from 'zod';
import { digest, record, timestamp } from '../../domain/value/fields.ts';

export const machine = record('Machine', 'A machine that does not belong to a pool.', {
  name: z.string(),
  provider: z.enum(['local', 'azure', 'sim']),
  machineId: z.string(),
  state: z.enum(['creating', 'updating', 'ready', 'failed', 'deleting']),
  power: z.enum(['starting', 'running', 'stopping', 'stopped']),
  image: z.string(),
  version: z.string(),
  digest,
  size: z.string(),
  firmware: z.enum(['uefi', 'bios', 'direct']),
  createdAt: timestamp,
  trouble: z.string().optional().describe('Why it is running but not healthy.'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

export const machineList = z.object({ items: z.array(machine) });
