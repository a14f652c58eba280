// TCP beyond loopback: TLS or nothing, on both sides. The daemon runs in a network namespace of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/api/client/client.ts';
import { openListener } from '../../src/daemon/http/listener.ts';
import { ensureOwnCertificate, fingerprintOf } from '../../src/daemon/http/own-certificate.ts';
import { isRoot, statusOf } from '../support/daemon.ts';
import { collect, createImago, type Finished, type Imago } from '../support/imago.ts';

const launcher = resolve(import.meta.dirname, '../../bin/imago');
const ADDRESS = '198.51.100.7';

test.each(['http://198.51.100.7:7070', 'http://imago.example.com', 'http://127.0.0.1.nip.io:7070'])(
  'the client does not send a token to %s',
  async (url) => {
    const client = createClient({ url, token: 'imago_secret' });
    await expect(client.call('status')).rejects.toMatchObject({ code: 'tls-required', exitCode: 4 });
    client.close();
  },
);

describe('a listener', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'imago-tls-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['0.0.0.0', '::', '198.51.100.7', 'imago.example.com'])(
    'refuses %s without a certificate, and takes no port',
    async (host) => {
      const opening = openListener(join(folder, 's'), { host, port: 0 });
      await expect(opening).rejects.toMatchObject({ code: 'tls-required' });
    },
  );

  test('refuses a certificate that is none, and names the file', async () => {
    const tls = { certificate: import.meta.filename, key: import.meta.filename };
    await expect(openListener(join(folder, 's'), { host: '127.0.0.1', port: 0, tls })).rejects.toMatchObject({
      code: 'tls-required',
      message: expect.stringContaining(import.meta.filename),
    });
  });

  test('has the same certificate again, and a new one of the same authority for a new name', async () => {
    const first = await ensureOwnCertificate(folder, '198.51.100.7');
    const served = readFileSync(first.certificate, 'utf8');
    const authority = readFileSync(first.ca, 'utf8');
    await ensureOwnCertificate(folder, '198.51.100.7');
    expect(readFileSync(first.certificate, 'utf8')).toBe(served);
    await ensureOwnCertificate(folder, 'imago.example.com');
    expect(readFileSync(first.certificate, 'utf8')).not.toBe(served);
    expect(readFileSync(first.ca, 'utf8')).toBe(authority);
    for (const file of ['server.pem', 'ca.key']) {
      expect(statSync(join(folder, 'tls', file)).mode & 0o777).toBe(0o600);
    }
  });
});

describe.runIf(isRoot)('a daemon that listens beyond loopback', () => {
  let imago: Imago;
  let url: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    imago = await createImago();
    const setUp = `ip link set lo up && ip addr add ${ADDRESS}/32 dev lo && exec "$@"`;
    const up = await isolated(['unshare', '-n', 'sh', '-c', setUp, 'sh'], ['up', '--listen', `${ADDRESS}:0`]);
    expect(up).toMatchObject({ code: 0 });
    const { listen } = await statusOf(imago);
    url = `https://${listen}`;
    const { secret } = await imago.json<{ secret: string }>([
      'token',
      'create',
      '--owner',
      'eve',
      '--role',
      'viewer',
    ]);
    env = { IMAGO_URL: url, IMAGO_TOKEN: secret };
  });
  afterAll(() => imago.end());

  function isolated(wrapper: readonly string[], words: readonly string[], more = {}): Promise<Finished> {
    const [program = '', ...args] = [...wrapper, launcher, ...words];
    const all = { ...process.env, IMAGO_HOME: imago.home, IMAGO_PROVIDER: 'sim', NO_COLOR: '1', ...more };
    return collect(spawn(program, args, { env: all, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  async function remote(more: Record<string, string>): Promise<Finished> {
    const { pid } = (await statusOf(imago)).daemon;
    return isolated(['nsenter', '-t', String(pid), '-n'], ['pool', 'list'], { ...env, ...more });
  }

  test('makes its own certificate, and tells clients which authority to trust', async () => {
    const { tls } = (await statusOf(imago)) as unknown as { tls: { ca: string; fingerprint: string } };
    expect(tls.fingerprint).toBe(fingerprintOf(readFileSync(tls.ca)));
    expect(await remote({ IMAGO_CA: tls.ca })).toMatchObject({ code: 0 });
  });

  test('is not trusted without its authority, and the hint names IMAGO_CA', async () => {
    const { code, err } = await remote({});
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/^hint: .*IMAGO_CA/m) });
  });

  test('gets no token over http://', async () => {
    const { code, err } = await remote({ IMAGO_URL: url.replace('https', 'http') });
    expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining('in clear text') });
  });
});
