// Tokens and the audit log.
import * as z from 'zod';
import { auditEntry, token } from '../../domain/access/record.ts';
import { auditQuery, createdToken, createTokenRequest, identity } from '../schemas/access.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const accessContract = endpoints('Access', {
  showIdentity: read('GET /v1/identity', 'Show who the caller is to the daemon', { response: identity }),
  listTokens: read('GET /v1/tokens', 'List tokens, without their secrets', {
    role: 'admin',
    query: pageQuery,
    response: pageOf(token),
  }),
  createToken: create('POST /v1/tokens', 'Create an API token; its secret is shown once', {
    role: 'admin',
    body: createTokenRequest,
    response: createdToken,
    secret: true,
  }),
  revokeToken: write('DELETE /v1/tokens/{token}', 'Revoke an API token', {
    role: 'admin',
    response: z.object({ id: z.string() }).meta({ id: 'RevokedToken' }),
  }),
  listAudit: read('GET /v1/audit', 'List all write requests, including rejected ones, newest first', {
    role: 'admin',
    query: auditQuery,
    response: pageOf(auditEntry),
  }),
});
