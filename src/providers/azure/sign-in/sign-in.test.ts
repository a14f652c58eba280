import { execFileSync } from 'node:child_process';
import { verify, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import type { HttpRequest } from '../arm/transport.ts';
import type { SignInOptions } from './options.ts';
import { openSignIn } from './sign-in.ts';

const folder = mkdtempSync(join(tmpdir(), 'imago-sign-in-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const identity = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'client' };
/** Nothing listens there. */
const nowhere = { AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://127.0.0.1:1', PATH: folder };

function signIn(env: SignInOptions['env'], reply: { status?: number; json?: unknown } = {}) {
  const sent: HttpRequest[] = [];
  let now = 1_000_000;
  const made = openSignIn({
    clock: { now: () => now, sleep: async () => undefined },
    ...{ env: { ...nowhere, ...env }, resource: 'https://management.azure.com' },
    authority: 'https://login.microsoftonline.com',
    transport: {
      async send(request) {
        sent.push(request);
        const {
          status = 200,
          json = { access_token: `token-${sent.length}`, expires_in: 3600, value: 'oidc' },
        } = reply;
        return { status, headers: {}, body: Buffer.from(JSON.stringify(json)) };
      },
      close: () => undefined,
    },
  });
  const form = (index = 0) => new URLSearchParams(String(sent[index]?.body));
  return { made, sent, form, pass: (ms: number) => (now += ms) };
}

test('with a secret: one token, until shortly before it expires', async () => {
  const { made, sent, form, pass } = signIn({ ...identity, AZURE_CLIENT_SECRET: 's3cret' });
  expect(await Promise.all([made.token(signal), made.token(signal)])).toEqual(['token-1', 'token-1']);
  expect(await made.check(signal)).toBe('secret');
  expect(sent[0]?.url.href).toBe('https://login.microsoftonline.com/tenant/oauth2/v2.0/token');
  expect(form().get('scope')).toBe('https://management.azure.com/.default');
  pass(3_500_000);
  expect(await made.token(signal)).toBe('token-2');
});

test('with a certificate: the assertion is signed with its key', async () => {
  const pem = join(folder, 'client.pem');
  execFileSync(
    '/usr/bin/openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-batch', '-subj', '/CN=imago', '-days', '1'],
      ...['-keyout', `${pem}.key`, '-out', pem],
    ],
    { stdio: 'ignore' },
  );
  writeFileSync(pem, readFileSync(pem, 'utf8') + readFileSync(`${pem}.key`, 'utf8'));
  const { made, form } = signIn({ ...identity, AZURE_CLIENT_CERTIFICATE_PATH: pem });
  expect(await made.check(signal)).toBe('certificate');
  const [head, claims, signature] = (form().get('client_assertion') ?? '').split('.');
  const { publicKey } = new X509Certificate(readFileSync(pem));
  const text = Buffer.from(`${head}.${claims}`);
  expect(verify('sha256', text, publicKey, Buffer.from(signature ?? '', 'base64url'))).toBe(true);
  expect(JSON.parse(Buffer.from(claims ?? '', 'base64url').toString())).toMatchObject({ iss: 'client' });
});

test('with the token file of a cluster, and with a token of GitHub', async () => {
  const file = join(folder, 'token');
  writeFileSync(file, 'cluster-token\n');
  const cluster = signIn({ ...identity, AZURE_FEDERATED_TOKEN_FILE: file });
  expect(await cluster.made.check(signal)).toBe('workload');
  expect(cluster.form().get('client_assertion')).toBe('cluster-token');
  const github = signIn({
    ...identity,
    ACTIONS_ID_TOKEN_REQUEST_URL: 'https://github.test/token?x=1',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'job-token',
  });
  expect(await github.made.check(signal)).toBe('github');
  expect(github.sent[0]?.url.href).toBe(
    'https://github.test/token?x=1&audience=api%3A%2F%2FAzureADTokenExchange',
  );
  expect(github.form(1).get('client_assertion')).toBe('oidc');
});

test('an expired secret is named, no other way is tried, and the secret is in no error', async () => {
  const json = {
    error: 'invalid_client',
    error_description: 'AADSTS7000222: The secret is expired.\r\nTrace ID: 1',
  };
  const { made } = signIn({ ...identity, AZURE_CLIENT_SECRET: 's3cret' }, { status: 401, json });
  const error = ensureImagoError(await made.token(signal).catch((thrown: unknown) => thrown));
  expect(error.code).toBe('provider-sign-in-failed');
  expect(error.message).toBe('Imago cannot sign in to Azure. secret: AADSTS7000222: The secret is expired.');
  expect(JSON.stringify(error.toRecord())).not.toContain('s3cret');
});

test('with nothing set up, each way says what it lacks', async () => {
  const { made } = signIn({});
  const error = ensureImagoError(await made.token(signal).catch((thrown: unknown) => thrown));
  const tried = error.details?.tried as readonly string[];
  expect(tried.map((text) => text.split(':')[0])).toEqual([
    ...['secret', 'certificate', 'workload', 'github', 'managed', 'az'],
  ]);
  expect(tried[0]).toContain('AZURE_CLIENT_SECRET not set');
  expect(tried[5]).toContain('az login');
});
