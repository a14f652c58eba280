// Tokens and the audit.
import * as z from 'zod';
import { auditEntry, auditQuery, createdToken, createTokenRequest, token } from '../schemas/access.ts';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { endpoint } from './endpoint.ts';

export const accessContract = {
  listTokens: endpoint({
    tag: 'Access',
    summary: 'All tokens, without their secrets',
    role: 'admin',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(token),
  }),
  createToken: endpoint({
    tag: 'Access',
    summary: 'Make a token; its secret is shown once',
    role: 'admin',
    effect: 'write',
    body: createTokenRequest,
    status: 201,
    secret: true,
    response: createdToken,
  }),
  revokeToken: endpoint({
    tag: 'Access',
    summary: 'End a token at once',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ token: name }),
    status: 200,
    response: z.object({ id: z.string() }).meta({ id: 'RevokedToken' }),
  }),
  listAudit: endpoint({
    tag: 'Access',
    summary: 'Every write, done or refused, newest first',
    role: 'admin',
    effect: 'read',
    query: auditQuery,
    status: 200,
    response: pageOf(auditEntry),
  }),
};
