// Serves the emulator over https on loopback, with a certificate authority that was made for the run.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../host/process/run-tool.ts';
import { isObject, type Json } from './arm/json.ts';
import type { Reply } from './arm/operations.ts';
import { Emulator, type EmulatorOptions } from './emulator.ts';

export interface RunningEmulator {
  readonly url: string;
  /** The file with the certificate of the authority. */
  readonly ca: string;
  readonly token: string;
  close(): Promise<void>;
}

const largestBody = 8 * 2 ** 20;

export async function serveEmulator(
  options: EmulatorOptions & { readonly port?: number },
): Promise<RunningEmulator> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-azure-'));
  const emulator = new Emulator(options);
  const close = async () => {
    await emulator.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { ca, cert, key } = await makeCertificates(folder);
    const server = createServer({ cert, key }, (request, response) => {
      serve(emulator, request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options.port ?? 0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    return {
      ...{ url: `https://127.0.0.1:${port}`, ca, token: emulator.token() },
      async close() {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        await closed;
        await close();
      },
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function serve(emulator: Emulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bytes = await readBody(request);
  if (bytes === undefined)
    return send(response, {
      status: 413,
      body: { error: { code: 'RequestContentTooLarge', message: 'The request is too large.' } },
    });
  const url = new URL(request.url ?? '/', `https://${request.headers.host ?? '127.0.0.1'}`);
  const token = (request.headers.authorization ?? '').replace(/^Bearer /i, '');
  const method = request.method ?? 'GET';
  const headers = request.headers as Readonly<Record<string, string | undefined>>;
  if (isBlob(url, headers)) {
    const reply = await emulator.handleBlob({ method, url, headers, body: bytes }, token);
    response.writeHead(reply.status, reply.headers);
    response.end(reply.body);
    return;
  }
  const text = bytes.toString('utf8');
  const body = readJson(text, request.headers['content-type'] ?? '');
  if (body === undefined) {
    const error = {
      code: 'InvalidRequestContent',
      message: 'The request content was invalid and could not be deserialized.',
    };
    return send(response, { status: 400, body: { error } });
  }
  send(
    response,
    await emulator.handle({ method, url, token, body, headers, form: new URLSearchParams(text) }),
  );
}

/** The storage service says its version in a header, or is asked under a grant. */
function isBlob(url: URL, headers: Readonly<Record<string, string | undefined>>): boolean {
  return headers['x-ms-version'] !== undefined || url.searchParams.has('sig');
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readJson(text: string, type: string): Json | undefined {
  if (text === '' || !type.includes('json')) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status, headers = {}, body }: Reply): void {
  const json = body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
  response.writeHead(status, { ...json, ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

async function makeCertificates(folder: string) {
  const ca = await makeCertificate(folder, 'ca', [
    'basicConstraints=critical,CA:TRUE',
    'keyUsage=critical,keyCertSign',
  ]);
  const names = 'subjectAltName=IP:127.0.0.1,DNS:localhost';
  const issuer = ['-CA', ca.cert, '-CAkey', ca.key];
  const leaf = await makeCertificate(folder, 'server', ['basicConstraints=critical,CA:FALSE', names], issuer);
  const [cert, key] = await Promise.all([readFile(leaf.cert), readFile(leaf.key)]);
  await writeFile(ca.key, '');
  return { ca: ca.cert, cert, key };
}

async function makeCertificate(
  folder: string,
  name: string,
  extensions: readonly string[],
  issuer: readonly string[] = [],
) {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  await runTool('openssl', [
    ...[
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-batch',
      '-days',
      '30',
    ],
    ...['-subj', `/CN=Imago Azure emulator ${name}`, '-keyout', files.key, '-out', files.cert],
    ...extensions.flatMap((extension) => ['-addext', extension]),
    ...issuer,
  ]);
  return files;
}
