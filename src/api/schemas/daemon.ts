// The daemon: its status, its prerequisites, its settings.

import * as z from 'zod';
import { operationState } from '../../domain/operation/record.ts';
import { settingValue } from '../../domain/settings/settings.ts';
import { listOf, record, request } from '../../domain/value/fields.ts';

export const status = record('Status', 'The status of the daemon.', {
  version: z.string(),
  daemon: z.object({
    pid: z.int(),
    startedAt: z.iso.datetime({ offset: true }),
    uptimeSeconds: z.number(),
    state: z
      .enum(['active', 'standby'])
      .describe('`standby`: another daemon is active on the same database.'),
    epoch: z.int().optional(),
    node: z.string(),
  }),
  database: z.object({
    version: z.string().optional(),
    embedded: z.boolean(),
    state: z.enum(['ready', 'unreachable']),
    pid: z.int().optional(),
  }),
  home: z.string().describe('State directory.'),
  sockets: z.object({ api: z.string(), database: z.string().optional() }),
  settings: z.record(z.string(), z.union([z.string(), z.number()])).describe('Settings in effect.'),
  listen: z.string().optional().describe('HOST:PORT if the API also listens on TCP.'),
  tls: z
    .object({
      fingerprint: z.string().describe('SHA-256 of the certificate, or of the authority in `ca`.'),
      ca: z.string().optional().describe('File that clients need as IMAGO_CA.'),
    })
    .optional()
    .describe('Present if TCP uses TLS.'),
  providers: listOf(
    z.object({
      name: z.string(),
      roles: listOf(z.string()),
      emulated: z
        .literal(true)
        .optional()
        .describe('An emulator plays the cloud: what it makes is not real.'),
    }),
  ),
  operations: z
    .partialRecord(operationState, z.int())
    .optional()
    .describe('Number of unfinished operations by state.'),
  problems: z.int().optional().describe('Number of open problems.'),
});

export const doctorReport = record('DoctorReport', 'The prerequisites of the host.', {
  ok: z.boolean().describe('Whether no prerequisite is `missing`.'),
  findings: listOf(
    z.object({
      id: z.string(),
      group: z.string(),
      title: z.string(),
      state: z.enum(['ok', 'warn', 'missing']),
      detail: z.string(),
      fix: z.string().optional().describe('Command that installs it.'),
    }),
  ),
});

export const versionInfo = record('VersionInfo', 'Versions.', {
  version: z.string(),
  api: z.literal('v1'),
  node: z.string(),
});

export const shutdownRequest = request('ShutdownRequest', {
  database: z.boolean().optional().describe('Also stop the embedded PostgreSQL. Defaults to true.'),
});

export const shutdownAnswer = record('ShutdownAnswer', 'The process that is stopping.', { pid: z.int() });

export const setSettingRequest = request('SetSettingRequest', { value: settingValue });
