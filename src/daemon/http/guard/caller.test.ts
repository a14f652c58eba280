// Who a caller is depends on the transport and the token alone.
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import type { TokenRecord, Tokens } from '../../../ports/database/access.ts';
import { identifyCaller, requireRole } from './caller.ts';

const token: TokenRecord = {
  id: 't1',
  owner: 'ann',
  role: 'operator',
  createdAt: '2026-01-01T00:00:00Z',
  expiresAt: '2027-01-01T00:00:00Z',
};
const asked: string[] = [];
const tokens = {
  async authenticate(secret: string) {
    asked.push(secret);
    return secret === 'good' ? token : undefined;
  },
} as Tokens;
const tcp = { kind: 'tcp', remoteAddress: '10.0.0.1', localAddress: '10.0.0.2' } as const;

test('without a token, the caller over the Unix socket is local, and over TCP unknown', async () => {
  expect(await identifyCaller({ kind: 'socket' }, undefined, tokens)).toEqual({
    who: 'local',
    role: 'admin',
    local: true,
    osUser: userInfo().username,
  });
  expect(await identifyCaller(tcp, undefined, tokens)).toBeUndefined();
});

test('an invalid token identifies no caller, even over the Unix socket', async () => {
  expect(await identifyCaller({ kind: 'socket' }, 'Bearer bad', tokens)).toBeUndefined();
  expect(await identifyCaller(tcp, 'Bearer bad', tokens)).toBeUndefined();
});

test('a good token is its owner with its role, over TCP and over the Unix socket', async () => {
  const ann = { who: 'ann', role: 'operator', token: 't1' };
  expect(await identifyCaller({ kind: 'socket' }, 'Bearer good', tokens)).toEqual({
    ...{ ...ann, local: true, osUser: userInfo().username },
  });
  expect(await identifyCaller(tcp, 'bearer  good', tokens)).toEqual({ ...ann, local: false });
});

test.each(['Basic Z29vZA==', 'good', 'Bearer', 'Bearer ', 'Bearer a b', `Bearer ${'x'.repeat(501)}`])(
  '%s never reaches the database',
  async (authorization) => {
    asked.length = 0;
    expect(await identifyCaller(tcp, authorization, tokens)).toBeUndefined();
    expect(asked).toEqual([]);
  },
);

test('a role allows all that is below it and nothing above it', () => {
  const caller = { who: 'ann', role: 'operator', local: false } as const;
  expect(() => requireRole(caller, 'viewer', 'x')).not.toThrow();
  expect(() => requireRole(caller, 'operator', 'x')).not.toThrow();
  expect(() => requireRole(caller, 'publisher', 'promote')).toThrow(
    'ann has the role operator; promote needs publisher.',
  );
});
