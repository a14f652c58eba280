// Keys that versions are signed with.
import { pageOf } from '../schemas/common.ts';
import { key, revokeKeyRequest, trustKeyRequest } from '../schemas/image.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const keyContract = endpoints('Keys', {
  listKeys: read('GET /v1/keys', 'List own and trusted keys, oldest first, without private parts', {
    response: pageOf(key),
  }),
  createKey: create('POST /v1/keys', 'Create a signing key, or rotate the active one', {
    role: 'admin',
    response: key,
  }),
  revokeKey: write('POST /v1/keys/{key}/revoke', 'Revoke a key and invalidate all its signatures', {
    role: 'admin',
    body: revokeKeyRequest,
    response: key,
  }),
  trustKey: write('POST /v1/keys/trust', 'Trust the key of another installation', {
    role: 'admin',
    body: trustKeyRequest,
    response: key,
    description:
      'Sending a trusted key again updates its record, for example with its end or its revocation.',
  }),
  untrustKey: write('DELETE /v1/keys/{key}', 'Stop trusting a key of another installation', {
    role: 'admin',
    response: key,
  }),
});
