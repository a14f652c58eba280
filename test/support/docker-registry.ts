// A real registry from Debian's docker-registry package on a port of 127.0.0.1, gone when the test is over.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testCertificate, testKey } from './tls-fixture.ts';
import { until } from './until.ts';

export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:port` */
  readonly host: string;
}

export type RegistrySignIn =
  | { readonly kind: 'basic' }
  /** The address of a service that hands out tokens. */
  | { readonly kind: 'token'; readonly realm: string };

export const testUser = { username: 'imago', password: 'test-password' } as const;
const testUserHash = '$2b$04$TiSzm6cWWC3crMJ/nHLqCuaoo2E.Fh1yw4TynL4yVOJUgNfkJq2Q6';

/** The path of a program of this machine; a clear error when it is not there. */
export async function judge(name: string): Promise<string> {
  for (const folder of [...(process.env.PATH ?? '').split(':'), '/usr/bin', '/usr/sbin']) {
    const path = join(folder, name);
    const found = await access(path).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  throw new Error(`this test needs ${name}: install the Debian package ${name}`);
}

/** `address` is that of a registry that was stopped. */
export async function startRegistry(signIn?: RegistrySignIn, address?: string): Promise<TestRegistry> {
  const program = await judge('docker-registry');
  const folder = await mkdtemp(join(tmpdir(), 'imago-registry-'));
  const host = address ?? `127.0.0.1:${await freePort()}`;
  await writeFile(join(folder, 'certificate.pem'), testCertificate);
  await writeFile(join(folder, 'htpasswd'), `${testUser.username}:${testUserHash}\n`);
  await writeFile(join(folder, 'config.yml'), configuration(folder, host, signIn));
  const child = spawn(program, ['serve', join(folder, 'config.yml')], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      log = (log + text).slice(-4000);
    });
  }
  const stop = async () => {
    await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilAnswers(host, child, () => log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, [Symbol.asyncDispose]: stop };
}

function configuration(folder: string, host: string, signIn: RegistrySignIn | undefined): string {
  const auth =
    signIn?.kind === 'basic'
      ? `auth: {htpasswd: {realm: test, path: ${folder}/htpasswd}}`
      : signIn?.kind === 'token'
        ? `auth: {token: {realm: '${signIn.realm}', service: test, issuer: test, rootcertbundle: ${folder}/certificate.pem}}`
        : '';
  return `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: ${folder}/data}}
http: {addr: ${host}}
${auth}
`;
}

/** The service that a registry with tokens sends its clients to: checks the password, grants what is asked for. */
export async function startTokenService(): Promise<
  AsyncDisposable & { realm: string; readonly granted: string[] }
> {
  const granted: string[] = [];
  const expected = `Basic ${Buffer.from(`${testUser.username}:${testUser.password}`).toString('base64')}`;
  const server: Server = createHttpServer((request, response) => {
    if (request.headers.authorization !== expected) {
      response.writeHead(401).end();
      return;
    }
    const scopes = new URL(request.url ?? '/', 'http://service').searchParams.getAll('scope');
    granted.push(...scopes);
    response.end(JSON.stringify({ token: tokenFor(scopes), expires_in: 300 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    realm: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    granted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function tokenFor(scopes: readonly string[]): string {
  const certificate = testCertificate.replace(/-----[A-Z ]+-----|\n/g, '');
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = encode({ typ: 'JWT', alg: 'ES256', x5c: [certificate] });
  const access = scopes.map((scope) => {
    const [type, name, actions = ''] = scope.split(':');
    return { type, name, actions: actions.split(',') };
  });
  const claims = encode({
    iss: 'test',
    sub: 'imago',
    aud: 'test',
    exp: now + 300,
    nbf: now - 10,
    iat: now,
    jti: randomUUID(),
    access,
  });
  const signature = sign('sha256', Buffer.from(`${header}.${claims}`), {
    key: testKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${header}.${claims}.${signature.toString('base64url')}`;
}

async function untilAnswers(host: string, child: ChildProcess, log: () => string): Promise<void> {
  await until(
    'docker-registry answers',
    async () => child.exitCode !== null || (await fetch(`http://${host}/v2/`)).status > 0,
  );
  if (child.exitCode !== null) throw new Error(`docker-registry ended: ${log()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
