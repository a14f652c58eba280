// Who may do what: doors, tokens, roles, rates, and the row that every attempt to write leaves.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/api/client/client.ts';
import { contractOf, endpointNames, isWrite } from '../../src/api/contract/contract.ts';
import { roleIncludes, roles } from '../../src/domain/access/roles.ts';
import { type ApiBench, openApi } from '../support/api-bench.ts';
import { administer, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';
import { testCertificate, testKey } from '../support/tls-fixture.ts';

let bench: StoreBench;
let api: ApiBench;
let secrets: Record<(typeof roles)[number], string>;

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench, {
    limits: { tokenBurst: 10_000, addressBurst: 1_000, addressPerSecond: 1_000 },
  });
  await seedImage(api.store, 'node', 2);
  secrets = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await api.token(role)] as const)),
  ) as typeof secrets;
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** A request that the endpoint can only refuse once the caller is let in: nothing comes of it. */
function knock(name: (typeof endpointNames)[number], headers: Record<string, string>) {
  const endpoint = contractOf(name);
  const { method, url } = endpoint;
  const query = isWrite(endpoint) ? '?dryRun=what' : '?unknown=1';
  return api.ask({ method, path: url.replace(/\{\w+\}/g, 'none') + query, headers, tcp: true });
}

describe.each(endpointNames)('%s', (name) => {
  const { role: needed } = contractOf(name);

  test.each(roles)('by a token with the role %s', async (role) => {
    const { status } = await knock(name, bearer(secrets[role]));
    expect(status).toBe(roleIncludes(role, needed) ? 400 : 403);
  });

  test('without a token over TCP', async () => {
    expect((await knock(name, {})).status).toBe(401);
  });
});

describe('a publisher of another host', () => {
  const publish = (path: string, body: object) =>
    api.askProblem({
      method: 'POST',
      path,
      headers: {
        ...bearer(secrets.publisher),
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      tcp: true,
      body: JSON.stringify(body),
    });
  const recipe = (from: string) =>
    `name: spy\ncomponents:\n  - {name: loot, version: "1", from: ${from}, to: /etc/loot}\n`;

  test.each([
    ['{file: "x://../../etc/hostname"}', 'recipe-invalid'],
    ['{tar: "file:///etc/hostname"}', 'recipe-invalid'],
    ['{folder: "HTTP://../../etc"}', 'recipe-invalid'],
    ['{file: ../../etc/hostname}', 'recipe-files-wanted'],
    ['{file: /etc/hostname}', 'recipe-local-input'],
    ['{oci: "a:1", layout: /etc}', 'recipe-local-input'],
  ])('reads no file of the daemon by %s', async (from, code) => {
    for (const path of ['/v1/builds', '/v1/recipes/lock', '/v1/recipes/outdated']) {
      expect(await publish(path, { recipe: recipe(from) })).toMatchObject({ code });
    }
  });

  test('opens no directory of the daemon', async () => {
    const plain = 'name: spy\n';
    for (const place of [{ folder: '/etc' }, { roots: ['/etc'] }]) {
      expect(await publish('/v1/builds', { recipe: plain, ...place })).toMatchObject({
        code: 'recipe-local-input',
      });
    }
    const stored = { name: 'spy', numbering: 'semver', os: 'linux', architecture: 'x64', settings: {} };
    const input = { recipe: { ...stored, components: [], folder: '/etc' } };
    const schedule = { name: 'spy', cron: '0 0 1 1 *', kind: 'build', subject: 'image/spy', input };
    expect(await publish('/v1/schedules', schedule)).toMatchObject({ code: 'recipe-local-input' });
    const hotfix = { from: 'node:1.0.0', lockDigest: 'sha256:0', set: ['runc=1'] };
    for (const place of [{ folder: 'https://a/../../../../../..', roots: ['/'] }, { roots: ['/'] }]) {
      const spying = { ...schedule, input: { hotfix: { ...hotfix, ...place } } };
      expect(await publish('/v1/schedules', spying)).toMatchObject({ code: 'recipe-local-input' });
    }
  });

  test('leaves no failed build on the host of the daemon', async () => {
    const kept = { recipe: 'name: spy\n', keepFailed: true };
    expect(await publish('/v1/builds', kept)).toMatchObject({ code: 'recipe-local-input' });
    const input = { recipe: { name: 'spy', components: [], settings: {} }, keepFailed: true };
    const schedule = { name: 'spy', cron: '0 0 1 1 *', kind: 'build', subject: 'image/spy', input };
    expect(await publish('/v1/schedules', schedule)).toMatchObject({ code: 'recipe-local-input' });
  });
});

describe('tokens', () => {
  test.each(['', 'Bearer ', 'Bearer wrong', 'Basic YWRtaW46YWRtaW4=', `Bearer ${'x'.repeat(400)}`])(
    '%j is nobody',
    async (authorization) => {
      const problem = await api.askProblem({ path: '/v1/status', headers: { authorization }, tcp: true });
      expect(problem).toMatchObject({ status: 401, code: 'api-unauthenticated' });
    },
  );

  test('one that has expired is nobody', async () => {
    const { secret } = await api.store.tokens.create(
      'late',
      'admin',
      new Date(Date.now() - 1000).toISOString(),
    );
    const answer = await api.ask({ path: '/v1/status', headers: bearer(secret), tcp: true });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  });

  test('a bad one is refused over the Unix socket too, where none would be needed', async () => {
    expect((await api.askProblem({ path: '/v1/status', headers: bearer('wrong') })).status).toBe(401);
  });

  test('a small one stays small over the Unix socket', async () => {
    const path = '/v1/tokens';
    expect((await api.askProblem({ path, headers: bearer(secrets.viewer) })).status).toBe(403);
    expect((await api.ask({ path })).status).toBe(200);
  });

  test('no secret is in the database, the audit or the log', async () => {
    const made = await api.client.call('createToken', { body: { owner: 'ann', role: 'admin' } });
    for (const table of ['tokens', 'audit', 'idempotency_keys', 'events', 'operations']) {
      const rows = await administer<{ row: string }>(api.url, `select t::text as row from imago.${table} t`);
      expect(JSON.stringify(rows)).not.toContain(made.secret);
    }
    expect(api.logged.join('\n')).not.toContain(made.secret);
  });
});

describe('a role cannot be stretched', () => {
  test('by cancelling or trying again what one could not start', async () => {
    const body = { reference: 'node:1.0.0', channel: 'production', why: 'first' };
    const { id } = await api.client.call('promote', { body });
    await api.client.call('waitOperation', { path: { operation: id } });
    const operator = await api.clientOf('operator');
    const path = { operation: id };
    const refused = { code: 'api-role-too-small', httpStatus: 403 };
    await expect(operator.call('cancelOperation', { path })).rejects.toMatchObject(refused);
    await expect(operator.call('retryOperation', { path })).rejects.toMatchObject(refused);
  });

  test('by letting a schedule do it', async () => {
    const operator = await api.clientOf('operator');
    const promotion = { reference: 'node:1.0.1', channel: 'production', why: 'x' };
    const body = { name: 'sly', cron: '* * * * *', kind: 'promote', subject: 'image/node', input: promotion };
    await expect(operator.call('createSchedule', { body })).rejects.toMatchObject({
      code: 'api-role-too-small',
    });
    const unknown = { ...body, kind: 'restore-everything' };
    await expect(operator.call('createSchedule', { body: unknown })).rejects.toMatchObject({
      code: 'api-role-too-small',
    });
  });

  test('by ending a schedule of others', async () => {
    const body = {
      name: 'theirs',
      cron: '0 0 1 1 *',
      kind: 'test',
      subject: 's',
      input: { reference: 'node:1.0.0' },
    };
    await api.client.call('createSchedule', { body });
    const operator = await api.clientOf('operator');
    const path = { schedule: 'theirs' };
    await expect(operator.call('deleteSchedule', { path })).rejects.toMatchObject({
      code: 'api-role-too-small',
    });
  });
});

describe('the audit', () => {
  const newest = async () => (await api.client.call('listAudit', { query: { limit: 1 } })).items[0];

  test('has a row for a write that was refused for the role', async () => {
    const headers = {
      ...bearer(secrets.viewer),
      'content-type': 'application/json',
      'x-request-id': 'role-1',
    };
    await api.ask({ method: 'POST', path: '/v1/pools', headers, body: '{}', tcp: true });
    expect(await newest()).toMatchObject({
      who: 'viewer-owner',
      what: 'createPool',
      subject: '/v1/pools',
      requestId: 'role-1',
      status: 403,
      after: { error: 'api-role-too-small' },
    });
  });

  test('has a row for a write without a good token', async () => {
    await api.ask({ method: 'DELETE', path: '/v1/pools/web', headers: bearer('wrong'), tcp: true });
    expect(await newest()).toMatchObject({ who: 'unknown', what: 'deletePool', status: 401 });
    expect(await newest()).not.toHaveProperty('osUser');
    await api.ask({ method: 'DELETE', path: '/v1/pools/web', headers: bearer('wrong') });
    expect(await newest()).toMatchObject({ who: 'unknown', osUser: userInfo().username, status: 401 });
  });

  test('has a row for a write that a rule refused, with what it was about', async () => {
    const body = { reference: 'node:1.0.0', channel: 'latest', why: 'x' };
    await expect(api.client.call('promote', { body })).rejects.toMatchObject({ code: 'channel-managed' });
    expect(await newest()).toMatchObject({
      who: 'local',
      what: 'promote',
      subject: 'image/node',
      status: 403,
      after: { error: 'channel-managed' },
      before: { channel: 'latest' },
    });
  });

  test('has a row for a backup, which hands out everything, and none for other reads', async () => {
    for await (const _ of await api.client.backup()) {
      // Read to its end.
    }
    const row = await newest();
    expect(row).toMatchObject({ what: 'backup', status: 200 });
    await api.client.call('listPools');
    expect(await newest()).toEqual(row);
  });

  test('has a row for a dry run of an admin action, and none for other dry runs', async () => {
    const body = { owner: 'ann', role: 'viewer' } as const;
    await api.client.plan('createToken', { body });
    const row = await newest();
    expect(row).toMatchObject({ what: 'createToken', subject: 'token/ann', after: { dryRun: true } });
    const path = { key: '0123456789abcdef' };
    await expect(api.client.plan('revokeKey', { path, body: { reason: 'x' } })).rejects.toMatchObject({
      code: 'key-not-found',
    });
    const refused = await newest();
    expect(refused).toMatchObject({ what: 'revokeKey', after: { error: 'key-not-found', dryRun: true } });
    const move = { reference: 'node:1.0.0', channel: 'latest', why: 'x' };
    await expect(api.client.plan('promote', { body: move })).rejects.toThrow();
    expect(await newest()).toEqual(refused);
  });

  test('a write that cannot be audited is not confirmed', async () => {
    const silent = await openApi(bench, {
      context: (context) => ({
        ...context,
        audit: { ...context.audit, add: () => Promise.reject(new Error('the disk is full')) },
      }),
    });
    try {
      const body = { owner: 'ann', role: 'viewer' } as const;
      await expect(silent.client.call('createToken', { body })).rejects.toMatchObject({ httpStatus: 500 });
    } finally {
      await silent.close();
    }
  });
});

describe('limits', () => {
  test('a token that asks too often waits as long as it is told', async () => {
    const busy = await openApi(bench, { limits: { tokenBurst: 3, tokenPerSecond: 0.25 } });
    try {
      const headers = bearer(await busy.token('viewer'));
      const ask = () => busy.ask({ path: '/v1/version', headers, tcp: true });
      const statuses = [];
      for (let n = 0; n < 5; n += 1) statuses.push((await ask()).status);
      expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
      expect(statuses).toContain(429);
      const other = bearer(await busy.token('viewer', 'other'));
      expect((await busy.ask({ path: '/v1/version', headers: other, tcp: true })).status).toBe(200);
      const refused = await ask();
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      await sleep(Number(refused.headers['retry-after']) * 1000);
      expect((await ask()).status).toBe(200);
    } finally {
      await busy.close();
    }
  });

  test('an address that guesses tokens is stopped before the database is asked', async () => {
    let asked = 0;
    const guarded = await openApi(bench, {
      limits: { addressBurst: 3, addressPerSecond: 0.01 },
      context: (context) => ({
        ...context,
        tokens: {
          ...context.tokens,
          async authenticate(secret) {
            asked += 1;
            return context.tokens.authenticate(secret);
          },
        },
      }),
    });
    try {
      const statuses = [];
      for (let n = 0; n < 10; n += 1) {
        statuses.push(
          (await guarded.ask({ path: '/v1/status', headers: bearer(`guess-${n}`), tcp: true })).status,
        );
      }
      expect(statuses).toEqual([401, 401, 401, ...Array(7).fill(429)]);
      expect(asked).toBe(3);
      expect((await guarded.client.call('status')).daemon.pid).toBe(process.pid);
    } finally {
      await guarded.close();
    }
  });

  test('a good token is not locked out by bad ones from its address, as behind a proxy', async () => {
    const shared = await openApi(bench, { limits: { addressBurst: 3, addressPerSecond: 0.01 } });
    try {
      const headers = bearer(await shared.token('viewer'));
      const good = () => shared.ask({ path: '/v1/version', headers, tcp: true });
      expect((await good()).status).toBe(200);
      for (let n = 0; n < 6; n += 1)
        await shared.ask({ path: '/v1/version', headers: bearer(`guess-${n}`), tcp: true });
      for (let n = 0; n < 6; n += 1) await shared.ask({ path: '/v1/openapi.json', tcp: true });
      expect((await good()).status).toBe(200);
      expect((await shared.ask({ path: '/v1/openapi.json', tcp: true })).status).toBe(429);
    } finally {
      await shared.close();
    }
  });

  test('refused floods do not fill the audit', async () => {
    const guarded = await openApi(bench, { limits: { addressBurst: 3, addressPerSecond: 0.01 } });
    try {
      for (let n = 0; n < 10; n += 1)
        await guarded.ask({ method: 'DELETE', path: '/v1/pools/web', tcp: true });
      expect((await guarded.client.call('listAudit')).items).toHaveLength(3);
    } finally {
      await guarded.close();
    }
  });
});

describe('transports', () => {
  test('a page that points its own name at this machine gets no answer, with a good token neither', async () => {
    const headers = { ...bearer(secrets.admin), host: 'evil.example' };
    const problem = await api.askProblem({ path: '/v1/status', headers, tcp: true });
    expect(problem).toMatchObject({ status: 421, code: 'api-host-refused' });
    expect(
      (await api.askProblem({ path: '/v1/openapi.json', headers: { host: 'evil.example' }, tcp: true }))
        .status,
    ).toBe(421);
  });

  test('whoever hangs up at once over TCP is never taken for local', async () => {
    const before = (await api.client.call('listTokens', { query: { limit: 1000 } })).items.length;
    const port = Number(api.tcp.split(':')[1]);
    const body = JSON.stringify({ owner: 'thief', role: 'admin' });
    for (let n = 0; n < 200; n += 1) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.write(
            `POST /v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
            () => (n % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()),
          );
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
      });
    }
    await sleep(300);
    const after = (await api.client.call('listTokens', { query: { limit: 1000 } })).items.length;
    expect(after).toBe(before);
  });

  test('with a certificate TCP speaks TLS only, and the client trusts what it is told to', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'imago-tls-'));
    const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.certificate, testCertificate);
    writeFileSync(files.key, testKey);
    const secure = await openApi(bench, { tls: files });
    const token = await secure.token('viewer');
    const url = `https://${secure.tcp}`;
    const trusting = createClient({ url, token, ca: testCertificate });
    const wary = createClient({ url, token });
    const plain = createClient({ url: url.replace('https', 'http'), token });
    try {
      expect((await trusting.call('status')).daemon.pid).toBe(process.pid);
      await expect(wary.call('status')).rejects.toMatchObject({ code: 'daemon-answer-invalid' });
      await expect(plain.call('status')).rejects.toMatchObject({ code: 'daemon-connection-lost' });
    } finally {
      for (const client of [trusting, wary, plain]) client.close();
      await secure.close();
      rmSync(folder, { recursive: true });
    }
  });

  test('the OpenAPI document needs no token', async () => {
    const document = await api.ask({ path: '/v1/openapi.json', tcp: true });
    expect(JSON.parse(document.text)).toMatchObject({ openapi: '3.1.0' });
  });
});
