// The client against servers that misbehave: what broke is told apart, and nothing hangs.
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/api/client/client.ts';

let folder: string;
let socketPath: string;
let server: Server | undefined;
let client: Client;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-client-'));
  socketPath = join(folder, 's');
  client = createClient({ socketPath });
});
afterEach(async () => {
  client.close();
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function serve(listener: RequestListener): Promise<void> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(socketPath, resolve));
}

describe('what broke is told apart', () => {
  test('nobody is there', async () => {
    await expect(client.call('status')).rejects.toMatchObject({ code: 'daemon-not-running' });
  });

  test('a socket is left of a daemon that was killed', async () => {
    await serve(() => undefined);
    const left = `${socketPath}.left`;
    renameSync(socketPath, left);
    await new Promise<void>((resolve) => server?.close(() => resolve()));
    await expect(createClient({ socketPath: left }).call('status')).rejects.toMatchObject({
      code: 'daemon-not-running',
    });
  });

  test('it begins again in place: the question waits as long as its process is there', async () => {
    let there = true;
    const waiting = createClient({ socketPath, isRunning: () => there });
    const asked = waiting.call('status').catch((error: unknown) => error);
    await new Promise((done) => setTimeout(done, 300));
    await serve((_, response) => response.end('<html>'));
    expect(await asked).toMatchObject({ code: 'daemon-answer-invalid' });
    await new Promise<void>((resolve) => server?.close(() => resolve()));
    const again = waiting.call('status').catch((error: unknown) => error);
    await new Promise((done) => setTimeout(done, 100));
    there = false;
    expect(await again).toMatchObject({ code: 'daemon-not-running' });
  });

  test('it does not answer', async () => {
    await serve(() => undefined);
    await expect(client.call('status', {}, { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'daemon-not-answering',
    });
  });

  test('it hangs up without an answer', async () => {
    await serve((request) => request.socket.destroy());
    await expect(client.call('status')).rejects.toMatchObject({
      code: 'daemon-connection-lost',
      retryable: true,
    });
  });

  test('it hangs up within its answer', async () => {
    await serve((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"version":');
      setTimeout(() => request.socket.destroy(), 20);
    });
    await expect(client.call('status')).rejects.toMatchObject({ code: 'daemon-connection-lost' });
  });

  test('a write whose connection was lost is repeated with its key, at a daemon that is found again', async () => {
    const keys: unknown[] = [];
    await serve(({ headers, socket }, response) => {
      keys.push(headers['idempotency-key']);
      if (keys.length === 1) socket.destroy();
      else if (keys.length === 2)
        response
          .writeHead(409, { 'content-type': 'application/problem+json' })
          .end(JSON.stringify({ code: 'idempotency-running', detail: 'in progress', status: 409 }));
      else response.end('{"id":"1"}');
    });
    let found = 0;
    const local = createClient(async () => {
      found += 1;
      return { socketPath };
    });
    await local.call('createToken', { body: { owner: 'ann', role: 'viewer' } });
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(found).toBe(2);
  });

  test('it is no daemon of ours', async () => {
    await serve((_, response) => response.end('<html>'));
    await expect(client.call('status')).rejects.toMatchObject({ code: 'daemon-answer-invalid' });
    server?.removeAllListeners('request');
    server?.on('request', (_, response) => response.writeHead(404).end('<html>'));
    await expect(client.call('status')).rejects.toMatchObject({ code: 'daemon-answer-invalid' });
  });

  test('it is a newer daemon with an error that we do not know', async () => {
    await serve((_, response) => {
      const problem = {
        code: 'from-the-future',
        detail: 'Something new.',
        kind: 'conflict',
        retryable: true,
      };
      response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
    });
    await expect(client.call('status')).rejects.toMatchObject({
      code: 'daemon-answer-invalid',
      message: 'Something new. (from-the-future)',
      retryable: true,
    });
  });

  test('it refuses: the error is the one that the daemon threw', async () => {
    await serve((_, response) => {
      const problem = {
        code: 'pool-exists',
        detail: 'Pool web exists already.',
        hint: 'Choose another name.',
        kind: 'conflict',
        retryable: false,
        details: { pool: 'web' },
      };
      response.writeHead(409, { 'retry-after': '3' }).end(JSON.stringify(problem));
    });
    await expect(client.call('status')).rejects.toMatchObject({
      name: 'ImagoError',
      code: 'pool-exists',
      exitCode: 4,
      httpStatus: 409,
      message: 'Pool web exists already.',
      hint: 'Choose another name.',
      details: { pool: 'web', retryAfterMs: 3000 },
    });
  });
});

describe('a call', () => {
  test('is given up when its signal is aborted, before and within the answer', async () => {
    const abort = new AbortController();
    await serve((request, response) => {
      if (request.url === '/v1/doctor') response.writeHead(200).write('{');
    });
    const calls = [
      client.call('status', {}, { signal: abort.signal }),
      client.call('doctor', {}, { signal: abort.signal }),
    ];
    const outcomes = Promise.allSettled(calls);
    await sleep(50);
    abort.abort(new Error('enough'));
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'enough' } });
    }
    await expect(client.call('status', {}, { signal: abort.signal })).rejects.toThrow('enough');
  });

  test('escapes what stands in a path, and refuses an empty name', async () => {
    const paths: (string | undefined)[] = [];
    await serve((request, response) => {
      paths.push(request.url);
      response.end('{}');
    });
    await client.call('showPool', { path: { pool: 'a/b ü?x=1' } });
    await client.call('listNodes', { query: { pool: 'a&b', limit: 5 } });
    expect(paths).toEqual(['/v1/pools/a%2Fb%20%C3%BC%3Fx%3D1', '/v1/nodes?pool=a%26b&limit=5']);
    await expect(client.call('showPool', { path: { pool: '' } })).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  test('that writes has a key of its own, and the given one when it is repeated; reads have none', async () => {
    const keys: unknown[] = [];
    await serve((request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.end('{}');
    });
    const path = { pool: 'web' };
    await client.call('deletePool', { path });
    await client.call('deletePool', { path });
    await client.call('deletePool', { path }, { idempotencyKey: 'mine' });
    await client.call('showPool', { path });
    expect(keys[0]).not.toBe(keys[1]);
    expect(keys.slice(2)).toEqual(['mine', undefined]);
  });

  test('for all items asks for page after page', async () => {
    const cursors: (string | null)[] = [];
    await serve((request, response) => {
      const cursor = new URL(request.url ?? '', 'http://x').searchParams.get('cursor');
      cursors.push(cursor);
      const page = Number(cursor ?? 0);
      response.end(
        JSON.stringify({ items: [{ name: `p${page}` }], ...(page < 3 ? { next: String(page + 1) } : {}) }),
      );
    });
    const names: string[] = [];
    for await (const { name } of client.items('listPools')) names.push(name);
    expect(names).toEqual(['p0', 'p1', 'p2', 'p3']);
    expect(cursors).toEqual([null, '1', '2', '3']);
  });
});

describe('a stream of events', () => {
  test('whose first connection fails says so at once', async () => {
    await expect(client.events().next()).rejects.toMatchObject({ code: 'daemon-not-running' });
  });

  test('gives up when the daemon does not come back in time', async () => {
    await serve((_, response) => response.writeHead(200).end('retry: 10\nid: 1\n\n'));
    const events = client.events({ giveUpAfterMs: 100 });
    const ended = events.next();
    await sleep(50);
    server?.close();
    server?.closeAllConnections();
    await expect(ended).rejects.toMatchObject({ code: 'daemon-not-running' });
  });

  test('is not tried again when coming back is refused for good', async () => {
    let asked = 0;
    await serve((_, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(200).end('retry: 10\nid: 1\n\n');
      else response.writeHead(401).end(JSON.stringify({ code: 'api-unauthenticated', detail: 'Revoked.' }));
    });
    await expect(client.events().next()).rejects.toMatchObject({ code: 'api-unauthenticated' });
    expect(asked).toBe(2);
  });

  test('that nobody wants any more closes its connection', async () => {
    const closed = Promise.withResolvers<void>();
    await serve((_, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200).write('id: 1\ndata: {"id":1}\n\n');
    });
    for await (const event of client.events({ after: 0 })) {
      expect(event.id).toBe(1);
      break;
    }
    await closed.promise;
  });
});

test('a backup that is cut short is told, not taken for whole', async () => {
  await serve((request, response) => {
    response.writeHead(200).write('half');
    setTimeout(() => request.socket.destroy(), 20);
  });
  const pieces = await client.backup();
  await expect(
    (async () => {
      for await (const _ of pieces) {
        // Read to its end.
      }
    })(),
  ).rejects.toThrow();
});

test('an upload that the daemon refuses at once gives the refusal, not a broken pipe', async () => {
  await serve((_, response) => {
    response
      .writeHead(403, { connection: 'close' })
      .end(JSON.stringify({ code: 'restore-not-empty', detail: 'It holds images.', retryable: false }));
  });
  async function* endless() {
    for (let n = 0; n < 2000; n += 1) yield new Uint8Array(64 * 1024);
  }
  await expect(client.restore(endless())).rejects.toMatchObject({ code: 'restore-not-empty' });
});

test('the client starts quickly: it loads neither zod nor any other package', async () => {
  const { metafile } = await build({
    entryPoints: [join(import.meta.dirname, '../../src/api/client/client.ts')],
    ...{ bundle: true, write: false, metafile: true, platform: 'node', format: 'esm', packages: 'external' },
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const packages = imports.filter(({ external, path }) => external && !path.startsWith('node:'));
  expect(packages).toEqual([]);
  const files = Object.keys(metafile.inputs);
  expect(files.some((file) => file.endsWith('error/catalog.ts'))).toBe(true);
  expect(files.length).toBeLessThan(15);
});
