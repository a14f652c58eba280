// Sign-in of an application: with a secret, a certificate, or a token of another issuer that Azure trusts.
import { createHash, createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { SignInOptions, Token } from './options.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const assertionSeconds = 600;

export function bySecret(options: SignInOptions, secret: string, signal: AbortSignal): Promise<Token> {
  return askAuthority(options, { client_secret: secret }, signal);
}

export function byAssertion(options: SignInOptions, assertion: string, signal: AbortSignal): Promise<Token> {
  const proof = { client_assertion_type: assertionType, client_assertion: assertion };
  return askAuthority(options, proof, signal);
}

async function askAuthority(
  options: SignInOptions,
  proof: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Token> {
  const { env, resource, transport, clock } = options;
  const form = new URLSearchParams({
    ...{ client_id: env.AZURE_CLIENT_ID ?? '', grant_type: 'client_credentials' },
    ...{ scope: `${resource}/.default`, ...proof },
  });
  const reply = await transport.send({
    ...{ method: 'POST', url: new URL(tokenAddress(options)), signal, body: form.toString() },
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
  });
  return readToken(reply.body, reply.status, clock.now());
}

function tokenAddress({ authority, env }: SignInOptions): string {
  const host = authority.replace(/\/+$/, '');
  return `${host}/${encodeURIComponent(env.AZURE_TENANT_ID ?? '')}/oauth2/v2.0/token`;
}

/** Reads the reply of an authority. Its error names the reason, never the proof. */
export function readToken(body: Buffer, status: number, now: number): Token {
  const reply = parse(body);
  if (status === 200 && typeof reply.access_token === 'string') {
    const seconds = Number(reply.expires_in ?? 0);
    return { value: reply.access_token, expiresAt: now + seconds * 1000 };
  }
  const [reason = `The authority answered ${status}.`] = String(reply.error_description ?? '')
    .split(/\r?\n| Trace ID:/)
    .filter((line) => line !== '');
  throw new ImagoError('provider-sign-in-failed', reason);
}

/** Signs who we are with the key of the certificate, both in one PEM file. */
export async function certificateAssertion(options: SignInOptions): Promise<string> {
  const { env, clock } = options;
  const pem = await readFile(env.AZURE_CLIENT_CERTIFICATE_PATH ?? '', 'utf8');
  const thumbprint = createHash('sha256').update(new X509Certificate(pem).raw).digest('base64url');
  const now = Math.floor(clock.now() / 1000);
  const client = env.AZURE_CLIENT_ID ?? '';
  const claims = {
    ...{ aud: tokenAddress(options), iss: client, sub: client, jti: randomUUID() },
    ...{ nbf: now, exp: now + assertionSeconds },
  };
  const text = [{ alg: 'RS256', typ: 'JWT', 'x5t#S256': thumbprint }, claims].map(encode).join('.');
  return `${text}.${sign('sha256', Buffer.from(text), createPrivateKey(pem)).toString('base64url')}`;
}

/** The token that GitHub gives to a job with `id-token: write`. */
export async function githubToken({ env, transport }: SignInOptions, signal: AbortSignal): Promise<string> {
  const url = new URL(env.ACTIONS_ID_TOKEN_REQUEST_URL ?? '');
  url.searchParams.set('audience', 'api://AzureADTokenExchange');
  const authorization = `Bearer ${env.ACTIONS_ID_TOKEN_REQUEST_TOKEN ?? ''}`;
  const reply = await transport.send({ method: 'GET', url, signal, headers: { authorization } });
  const { value } = parse(reply.body);
  if (reply.status === 200 && typeof value === 'string') return value;
  throw new ImagoError(
    'provider-sign-in-failed',
    `GitHub answered ${reply.status} to the request for a token.`,
  );
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return {};
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
