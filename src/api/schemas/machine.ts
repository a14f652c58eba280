// Machines of no pool: those that tests run on.
import * as z from 'zod';
import { digest, timestamp } from './common.ts';

export const machine = z
  .object({
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
    trouble: z.string().optional().describe('What is wrong with it though it runs, in words.'),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: 'Machine', description: 'A machine of no pool, e.g. one that a failed test left for a look.' });

export const machineList = z.object({ items: z.array(machine) });
