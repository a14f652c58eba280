// Tokens and the audit log as they are recorded.
import * as z from 'zod';
import { json, record, timestamp } from '../value/fields.ts';
import { roles } from './roles.ts';

export const role = z.enum(roles).describe('Each role includes the previous ones.');

export const token = record('Token', 'An API token, without its secret.', {
  id: z.string(),
  owner: z.string(),
  role,
  createdAt: timestamp,
  expiresAt: timestamp,
  revokedAt: timestamp.optional(),
  lastUsedAt: timestamp.optional(),
});
export type TokenRecord = z.output<typeof token>;

export const auditEntry = record('AuditEntry', 'One write request, including rejected ones.', {
  id: z.int(),
  at: timestamp,
  who: z.string(),
  osUser: z
    .string()
    .optional()
    .describe('The user of the operating system, if the request came over the Unix socket.'),
  what: z.string().describe('Endpoint.'),
  subject: z.string(),
  before: json.optional(),
  after: json.optional(),
  requestId: z.string(),
  status: z.int(),
});
export type AuditEntry = z.output<typeof auditEntry>;
