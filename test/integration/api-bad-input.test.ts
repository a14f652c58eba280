// Bad input: one clear sentence, a hint, the right status, and nothing is changed.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiBench, Asked } from '../support/api-bench.ts';
import { openApi } from '../support/api-bench.ts';
import { databaseText } from '../support/database-text.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let api: ApiBench;
/** Begun first and looked at last: it takes as long as the server's patience. */
let letterByLetter: Promise<{ readonly answer: string; readonly whole: boolean }>;

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench, { limits: { bodyBytes: 20_000, bodyMs: patience(2000) } });
  await seedImage(api.store, 'node', 2);
  letterByLetter = speakSlowly(`GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${'x'.repeat(5000)}`);
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

const json = { 'content-type': 'application/json' };
const post = (path: string, body: unknown, headers = {}): Asked => ({
  method: 'POST',
  path,
  headers: { ...json, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const pool = { name: 'web', reference: 'node:1.0.1', capacity: 1 };

const cases: readonly [
  what: string,
  asked: Asked,
  status: number,
  code: string,
  detail: RegExp,
  hint?: RegExp,
][] = [
  [
    'a body that is too big',
    post('/v1/pools', ' '.repeat(20_001)),
    413,
    'api-body-too-big',
    /larger than 20000 bytes/,
  ],
  [
    'a body that is too big and does not say so',
    { ...post('/v1/pools', ' '.repeat(20_001)), headers: { ...json, 'transfer-encoding': 'chunked' } },
    413,
    'api-body-too-big',
    /larger than 20000 bytes/,
  ],
  ['malformed JSON', post('/v1/pools', '{"name": web}'), 400, 'api-body-malformed', /not valid JSON/],
  ['no body', post('/v1/pools', ''), 400, 'api-body-malformed', /not valid JSON/],
  [
    'a body that is no UTF-8',
    { ...post('/v1/pools', ''), body: Buffer.from([0x22, 0xff, 0x22]) },
    400,
    'api-body-malformed',
    /UTF-8/,
  ],
  [
    'a body without its media type',
    { ...post('/v1/pools', pool), headers: {} },
    415,
    'api-body-media-type',
    /no media type/,
    /application\/json/,
  ],
  [
    'a form',
    post('/v1/pools', 'name=web', { 'content-type': 'application/x-www-form-urlencoded' }),
    415,
    'api-body-media-type',
    /x-www-form-urlencoded/,
  ],
  [
    'a body where none is taken',
    { ...post('/v1/pools/web', '{}'), method: 'DELETE' },
    400,
    'input-invalid',
    /does not accept a body/,
  ],
  [
    'an unknown field',
    post('/v1/pools', { ...pool, capasity: 1 }),
    400,
    'input-invalid',
    /capasity is not known/,
    /Did you mean `capacity`\?/,
  ],
  [
    'a wrong type',
    post('/v1/pools', { ...pool, capacity: '1' }),
    400,
    'input-invalid',
    /capacity must be a number/,
  ],
  [
    'a number that is out of range',
    post('/v1/pools', { ...pool, capacity: -1 }),
    400,
    'input-invalid',
    /capacity must be at least 0/,
  ],
  [
    'a missing field',
    post('/v1/pools', { name: 'web' }),
    400,
    'input-invalid',
    /reference is missing \(and 1 more\)/,
  ],
  ['a list for an object', post('/v1/pools', []), 400, 'input-invalid', /The body must be an object/],
  [
    'a malformed name',
    post('/v1/pools', { ...pool, name: 'Web Pool ü' }),
    400,
    'name-malformed',
    /Web Pool/,
    /web-pool/,
  ],
  [
    'a malformed reference',
    post('/v1/pools', { ...pool, reference: 'node:' }),
    400,
    'reference-malformed',
    /node:/,
  ],
  [
    'a bare image name',
    post('/v1/pools', { ...pool, reference: 'node' }),
    400,
    'reference-inexact',
    /node/,
    /production/,
  ],
  [
    'an image that is not there',
    post('/v1/pools', { ...pool, reference: 'nod:1.0.0' }),
    404,
    'image-not-found',
    /nod/,
    /node/,
  ],
  [
    'a version that is not there',
    post('/v1/pools', { ...pool, reference: 'node:1.0.7' }),
    404,
    'version-not-found',
    /1\.0\.7/,
    /1\.0\.1/,
  ],
  [
    'a channel that is empty',
    post('/v1/pools', { ...pool, reference: 'node:staging' }),
    404,
    'channel-empty',
    /staging/,
  ],
  [
    'a provider that is not there',
    post('/v1/pools', { ...pool, provider: 'azure' }),
    400,
    'provider-unknown',
    /azure/,
  ],
  [
    'an empty promotion',
    post('/v1/channels/promote', { reference: 'node:1.0.0', channel: 'production', why: '' }),
    400,
    'input-invalid',
    /why/,
  ],
  [
    'a managed channel',
    post('/v1/channels/promote', { reference: 'node:1.0.0', channel: 'latest', why: 'x' }),
    403,
    'channel-managed',
    /latest/,
  ],
  [
    'a duplicate key in a recipe',
    post('/v1/builds', { recipe: 'name: a\nname: b\n', fileName: 'my recipe ü.yaml' }),
    400,
    'recipe-syntax',
    /^my recipe ü\.yaml:2:1: /,
  ],
  [
    'an unknown field in a recipe',
    post('/v1/builds', { recipe: 'name: a\nverion: 1\n' }),
    400,
    'recipe-invalid',
    /^recipe:2:1: verion is not known/,
  ],
  ['an unknown path', { path: '/v1/pool' }, 404, 'api-path-unknown', /\/v1\/pool/, /\/v1\/pools/],
  ['a path outside of the API', { path: '/../../etc/passwd' }, 404, 'api-path-unknown', /etc\/passwd/],
  [
    'a wrong method',
    { method: 'PUT', path: '/v1/pools' },
    405,
    'api-method-unknown',
    /PUT/,
    /GET, HEAD, POST/,
  ],
  [
    'a method that nobody knows',
    { method: 'PROPFIND', path: '/v1/status' },
    405,
    'api-method-unknown',
    /PROPFIND/,
  ],
  ['an unknown query', { path: '/v1/pools?limt=1' }, 400, 'input-invalid', /limt is not known/, /`limit`/],
  ['a query that stands twice', { path: '/v1/pools?limit=1&limit=2' }, 400, 'input-invalid', /limit twice/],
  ['a limit of nothing', { path: '/v1/pools?limit=0' }, 400, 'input-invalid', /limit must be at least 1/],
  [
    'a limit that is too big',
    { path: '/v1/pools?limit=1001' },
    400,
    'input-invalid',
    /limit must be at most 1000/,
  ],
  [
    'a limit that is no number',
    { path: '/v1/pools?limit=many' },
    400,
    'input-invalid',
    /limit must be a number/,
  ],
  [
    'a cursor of another list',
    { path: `/v1/pools?cursor=${Buffer.from('["images","a"]').toString('base64url')}` },
    400,
    'api-cursor-invalid',
    /pools/,
  ],
  ['a cursor that nobody gave', { path: '/v1/nodes?cursor=abc' }, 400, 'api-cursor-invalid', /nodes/],
  [
    'a dry run that is no word',
    { ...post('/v1/pools?dryRun=yes', pool) },
    400,
    'input-invalid',
    /dryRun must be one of true, false/,
  ],
  [
    'an event that is not there',
    { path: '/v1/events', headers: { 'last-event-id': '999999999' } },
    400,
    'api-event-id-invalid',
    /999999999/,
  ],
  ['an event id that is none', { path: '/v1/events?after=x' }, 400, 'api-event-id-invalid', /"x"/],
  ['HEAD of a stream', { method: 'HEAD', path: '/v1/events' }, 405, '', /^$/],
  [
    'a key with a space',
    post('/v1/pools', pool, { 'idempotency-key': 'a b' }),
    400,
    'input-invalid',
    /idempotency key/,
  ],
  ['an operation that is not there', { path: '/v1/operations/none' }, 404, 'operation-not-found', /none/],
  ['a node that is not there', { path: '/v1/nodes/none/which' }, 404, 'node-not-found', /none/],
  ['a pool that is not there', { method: 'DELETE', path: '/v1/pools/none' }, 404, 'pool-not-found', /none/],
  ['a name with a slash in it', { path: '/v1/pools/a%2Fb' }, 404, 'pool-not-found', /a\/b/],
  ['a broken escape in a name', { path: '/v1/pools/%E0%A4%A' }, 404, 'pool-not-found', /%E0%A4%A/],
  [
    'a kind of operation that is not there',
    post('/v1/schedules', { name: 'n', cron: '* * * * *', kind: 'nothing', subject: 's', input: {} }),
    400,
    'input-invalid',
    /"nothing"/,
    /There are: build, .*test, /,
  ],
  [
    'a time that cannot be read',
    post('/v1/schedules', { name: 'n', cron: 'soon', kind: 'test', subject: 's', input: {} }),
    400,
    'input-invalid',
    /soon/,
  ],
  [
    'a token for nobody',
    post('/v1/tokens', { owner: 'local', role: 'admin' }),
    400,
    'input-invalid',
    /local/,
  ],
  [
    'a token that has expired',
    post('/v1/tokens', { owner: 'ann', role: 'admin', expiresAt: '2020-01-01T00:00:00Z' }),
    400,
    'input-invalid',
    /expired/,
  ],
  [
    'a role that is none',
    post('/v1/tokens', { owner: 'ann', role: 'root' }),
    400,
    'input-invalid',
    /role must be one of viewer, operator/,
  ],
  [
    'a backup that is none',
    {
      method: 'POST',
      path: '/v1/restore?dryRun=true',
      headers: { 'content-type': 'application/octet-stream' },
      body: 'no backup',
    },
    403,
    'restore-not-empty',
    /./,
  ],
];

describe('bad input', () => {
  test.each(cases)('%s', async (_, asked, status, code, detail, hint) => {
    const before = await databaseText(api.url, ['audit']);
    if (asked.method === 'HEAD') {
      expect((await api.ask(asked)).status).toBe(status);
    } else {
      const problem = await api.askProblem(asked);
      expect({ status: problem.status, code: problem.code, detail: problem.detail }).toEqual({
        status,
        code,
        detail: expect.stringMatching(detail),
      });
      if (hint !== undefined) expect(problem.hint).toMatch(hint);
      expect(problem.detail).not.toMatch(/\n {4}at |node:internal|\.ts:\d/);
    }
    expect(await databaseText(api.url, ['audit'])).toBe(before);
  });

  test('the methods of a path are told in its Allow header', async () => {
    const answer = await api.ask({ method: 'PATCH', path: '/v1/pools/web' });
    expect(answer.headers.allow).toBe('DELETE, GET, HEAD');
  });

  test('what is not HTTP is refused, and the server lives', async () => {
    for (const bytes of [
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01',
      'GET /v1/status HTTP/1.1\r\nHost: a b\r\n\r\n',
    ]) {
      const answer = await speak(bytes);
      expect(answer).not.toMatch(/^HTTP\/1\.1 (200|5)/);
    }
    expect((await api.client.call('status')).daemon.pid).toBe(process.pid);
  });

  test('a body that comes too slowly is given up', async () => {
    const answer = await speak(
      'POST /v1/pools HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 408/);
    expect(answer).toContain('api-body-slow');
  });

  test('a caller who hangs up within the body leaves nothing running', async () => {
    const socket = connect(api.socketPath);
    socket.write(
      'POST /v1/pools HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect((await api.client.call('status')).daemon.pid).toBe(process.pid);
    expect((await api.store.fleet.listPools({ limit: 10 })).items).toEqual([]);
  });

  test('an answer carries the id of its request, the given one or a new one', async () => {
    const given = await api.ask({ path: '/v1/status', headers: { 'x-request-id': 'my-id.1' } });
    expect(given.headers['x-request-id']).toBe('my-id.1');
    const evil = await api.ask({ path: '/v1/status', headers: { 'x-request-id': 'a b<script>' } });
    expect(evil.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a failure inside tells the request, and neither its message nor its stack', async () => {
    const broken = await openApi(bench, {
      context: (context) => ({
        ...context,
        status: () => Promise.reject(new Error('password=s3cret at db.example')),
      }),
    });
    try {
      const problem = await broken.askProblem({ path: '/v1/status', headers: { 'x-request-id': 'find-me' } });
      expect(problem).toMatchObject({ code: 'internal', status: 500, requestId: 'find-me' });
      expect(JSON.stringify(problem)).not.toContain('s3cret');
      expect(broken.logged.join('\n')).toMatch(/find-me.*s3cret/s);
    } finally {
      await broken.close();
    }
  });
});

test('a head that comes letter by letter is cut off before it is whole', async () => {
  const { answer, whole } = await letterByLetter;
  expect(whole).toBe(false);
  // The answer can be lost when a letter is still on its way to a connection that is closed.
  expect(answer).toMatch(/^(HTTP\/1\.1 408|$)/);
});

/** Sends a letter now and then until the server closes: what it said, and whether it had heard everything. */
function speakSlowly(text: string): typeof letterByLetter {
  return new Promise((resolve, reject) => {
    let answer = '';
    let sent = 0;
    const socket = connect(api.socketPath);
    const timer = setInterval(() => socket.write(text[sent++] ?? ''), 20);
    socket.setEncoding('utf8');
    socket.on('data', (data) => {
      answer += data;
      clearInterval(timer);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
    });
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ answer, whole: sent >= text.length });
    });
  });
}

/** Sends bytes over the Unix socket and gives back everything until the server closes. */
function speak(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(api.socketPath, () => socket.write(bytes, 'latin1'));
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}
