// Tokens, and the record of who wrote what.
import * as z from 'zod';
import { roles } from '../../domain/access/roles.ts';
import { json, name, pageQuery, timestamp } from './common.ts';

const role = z.enum(roles).describe('Each role may do all that the ones before it may.');

export const token = z
  .object({
    id: z.string(),
    owner: z.string(),
    role,
    createdAt: timestamp,
    expiresAt: timestamp,
    revokedAt: timestamp.optional(),
    lastUsedAt: timestamp.optional(),
  })
  .meta({ id: 'Token', description: 'Who may do what, until when. The secret is not kept.' });

export const createdToken = z
  .object({ ...token.shape, secret: z.string().describe('Shown once.') })
  .meta({ id: 'CreatedToken' });

export const createTokenRequest = z
  .strictObject({
    owner: name.describe('Who acts with it: the name in operations and in the audit.'),
    role,
    expiresInDays: z
      .number()
      .positive()
      .max(3650)
      .optional()
      .describe('Defaults to 90. Not with `expiresAt`.'),
    expiresAt: timestamp.optional(),
  })
  .meta({ id: 'CreateTokenRequest' });

export const auditEntry = z
  .object({
    id: z.int(),
    at: timestamp,
    who: z.string(),
    osUser: z
      .string()
      .optional()
      .describe('The user of the operating system, if the request came over the Unix socket.'),
    what: z.string().describe('The endpoint.'),
    subject: z.string(),
    before: json.optional(),
    after: json.optional(),
    requestId: z.string(),
    status: z.int(),
  })
  .meta({ id: 'AuditEntry', description: 'One write, done or refused.' });

export const auditQuery = z.strictObject({ ...pageQuery.shape, subject: name.optional() });
