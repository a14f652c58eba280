// Tokens and the audit log.
import * as z from 'zod';
import { roles } from '../../domain/access/roles.ts';
import { json, name, record, request, timestamp } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';

const role = z.enum(roles).describe('Each role includes the previous ones.');

export const token = record('Token', 'An API token, without its secret.', {
  id: z.string(),
  owner: z.string(),
  role,
  createdAt: timestamp,
  expiresAt: timestamp,
  revokedAt: timestamp.optional(),
  lastUsedAt: timestamp.optional(),
});

export const createdToken = record('CreatedToken', 'A token with its secret.', {
  ...token.shape,
  secret: z.string().describe('Shown once.'),
});

export const createTokenRequest = request('CreateTokenRequest', {
  owner: name.describe('Name recorded in operations and the audit log.'),
  role,
  expiresInDays: z.number().positive().max(3650).optional().describe('Defaults to 90. Not with `expiresAt`.'),
  expiresAt: timestamp.optional(),
});

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

export const auditQuery = z.strictObject({ ...pageQuery.shape, subject: name.optional() });
