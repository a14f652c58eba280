// The daemon itself: its state, what the machine lacks, stopping it, carrying its data elsewhere.
import * as z from 'zod';
import { settingValue } from '../../domain/settings/settings.ts';
import { listOf } from './common.ts';
import { operationState } from './operation.ts';

export const status = z
  .object({
    version: z.string(),
    daemon: z.object({
      pid: z.int(),
      startedAt: z.iso.datetime({ offset: true }),
      uptimeSeconds: z.number(),
      state: z
        .enum(['active', 'standby'])
        .describe('`standby` waits for the active daemon of its database to go away.'),
      epoch: z.int().optional(),
      node: z.string(),
    }),
    database: z.object({
      version: z.string().optional(),
      embedded: z.boolean(),
      state: z.enum(['ready', 'unreachable']),
      pid: z.int().optional(),
    }),
    home: z.string().describe('The state folder.'),
    sockets: z.object({ api: z.string(), database: z.string().optional() }),
    settings: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .describe('The settings that are in effect.'),
    listen: z.string().optional().describe('HOST:PORT when the API also listens on TCP.'),
    tls: z
      .object({
        fingerprint: z.string().describe('SHA-256 of the certificate, or of the authority in `ca`.'),
        ca: z.string().optional().describe('The file that clients need as IMAGO_CA.'),
      })
      .optional()
      .describe('Present if TCP speaks TLS.'),
    providers: listOf(z.object({ name: z.string(), roles: listOf(z.string()) })),
    operations: z
      .partialRecord(operationState, z.int())
      .optional()
      .describe('How many operations are in each state that is not an end.'),
    problems: z.int().optional().describe('How many problems are open.'),
  })
  .meta({ id: 'Status' });

export const doctorReport = z
  .object({
    ok: z.boolean().describe('Whether nothing is `missing`.'),
    findings: listOf(
      z.object({
        id: z.string(),
        group: z.string(),
        title: z.string(),
        state: z.enum(['ok', 'warn', 'missing']),
        detail: z.string(),
        fix: z.string().optional().describe('The command that gets it.'),
      }),
    ),
  })
  .meta({ id: 'DoctorReport' });

export const versionInfo = z
  .object({ version: z.string(), api: z.literal('v1'), node: z.string() })
  .meta({ id: 'VersionInfo' });

export const shutdownRequest = z
  .strictObject({
    database: z.boolean().optional().describe('Also stop the embedded PostgreSQL. Default: yes.'),
  })
  .meta({ id: 'ShutdownRequest' });

export const shutdownAnswer = z.object({ pid: z.int() }).meta({ id: 'ShutdownAnswer' });

export const setSettingRequest = z.strictObject({ value: settingValue }).meta({ id: 'SetSettingRequest' });
