// Tokens and the audit log.

import * as z from 'zod';
import { role, token } from '../../domain/access/record.ts';
import { name, record, request, timestamp } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';

export const identity = record('Identity', 'Who the caller is to the daemon.', {
  who: z.string(),
  role,
  osUser: z.string().optional().describe('OS user, if the request came over the Unix socket.'),
  token: z.string().optional().describe('Id of the token. Absent over the Unix socket without one.'),
  expiresAt: timestamp.optional(),
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

export const auditQuery = z.strictObject({ ...pageQuery.shape, subject: name.optional() });
