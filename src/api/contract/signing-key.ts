// Keys that versions are signed with.
import * as z from 'zod';
import { name, pageOf } from '../schemas/common.ts';
import { key, revokeKeyRequest, trustKeyRequest } from '../schemas/image.ts';
import { endpoint } from './endpoint.ts';

export const keysContract = {
  listKeys: endpoint({
    tag: 'Keys',
    summary: 'All keys, oldest first, without their private parts',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: pageOf(key),
  }),
  createKey: endpoint({
    tag: 'Keys',
    summary: 'Make a key that signs from now on; the ones before it sign nothing new',
    role: 'admin',
    effect: 'write',
    status: 201,
    response: key,
  }),
  revokeKey: endpoint({
    tag: 'Keys',
    summary: 'Nothing that a key signed counts any more',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ key: name }),
    body: revokeKeyRequest,
    status: 200,
    response: key,
  }),
  trustKey: endpoint({
    tag: 'Keys',
    summary: 'What a key of another installation signed counts here too',
    description: 'The same key again takes over what is newly told of it, such as its end or its revocation.',
    role: 'admin',
    effect: 'write',
    body: trustKeyRequest,
    status: 200,
    response: key,
  }),
  forgetKey: endpoint({
    tag: 'Keys',
    summary: 'Nothing that a key of another installation signed counts here any more',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ key: name }),
    status: 200,
    response: key,
  }),
};
