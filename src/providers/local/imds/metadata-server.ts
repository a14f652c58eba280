// Serves both services to one machine, on two sockets that only this machine's network leads to: who asks is
// known by the socket, whatever the request says.
import { chmod, chown, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Answer, jsonAnswer, type MetadataRequest, xmlAnswer } from './answer.ts';
import { imdsAnswer } from './imds-answer.ts';
import type { InterfaceFacts } from './instance-document.ts';
import type { TokenIssuer } from './local-token.ts';
import type { MachineMetadata, PlatformHealth } from './machine-metadata.ts';
import { createRateLimit } from './rate-limit.ts';
import { wireAnswer } from './wire-answer.ts';

export interface MetadataServerOptions {
  readonly imdsSocket: string;
  readonly wireSocket: string;
  /** The user that can connect, besides root; absent: the user of this process. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  readonly interfaces: readonly InterfaceFacts[];
  readonly tokens: TokenIssuer;
  /** Milliseconds that never go back, for the limit on requests. */
  monotonicMs?(): number;
  /** Asked at each request, so that a change is seen by the next one. */
  metadata(): MachineMetadata;
  onHealth(health: PlatformHealth): void;
}

export interface MetadataServer {
  /** Ends both servers and removes their sockets. A second call does nothing. */
  close(): Promise<void>;
}

const MAX_BODY = 64 * 1024;
const REQUESTS_A_SECOND = 5;

/** Takes the place of whatever is at the two paths: a server of a daemon that was killed leaves its sockets. */
export async function startMetadataServer(options: MetadataServerOptions): Promise<MetadataServer> {
  const limit = createRateLimit(REQUESTS_A_SECOND);
  const imds = (request: MetadataRequest): Answer => {
    if (!limit(options.monotonicMs?.() ?? performance.now()))
      return jsonAnswer(429, { error: 'Too many requests' });
    const { interfaces, tokens } = options;
    const metadata = options.metadata();
    return imdsAnswer(request, { metadata, interfaces, tokens, nowMs: Date.now() });
  };
  const wire = (request: MetadataRequest): Answer => {
    const { machineId, name } = options.metadata();
    const { answer, health } = wireAnswer(request, { machineId, name, now: new Date().toISOString() });
    if (health !== undefined) options.onHealth(health);
    return answer;
  };
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.splice(0).map(closeServer));
    await Promise.all([options.imdsSocket, options.wireSocket].map((path) => rm(path, { force: true })));
  };
  try {
    const tooBig = { imds: jsonAnswer(413, { error: 'Request too large' }), wire: xmlAnswer(413, '') };
    servers.push(await listen(options.imdsSocket, imds, tooBig.imds, options.owner));
    servers.push(await listen(options.wireSocket, wire, tooBig.wire, options.owner));
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

async function listen(
  path: string,
  answer: (request: MetadataRequest) => Answer,
  tooBig: Answer,
  owner: MetadataServerOptions['owner'],
): Promise<Server> {
  await rm(path, { force: true });
  const server = createServer(
    { maxHeaderSize: 8192, headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 1000 },
    (request, response) => {
      readBody(request).then(
        (body) => send(response, body === undefined ? tooBig : answer(describe(request, body))),
        () => response.destroy(),
      );
    },
  );
  server.maxConnections = 64;
  server.maxRequestsPerSocket = 100;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined);
  await chmod(path, 0o600);
  if (owner !== undefined && owner.uid !== process.getuid?.()) await chown(path, owner.uid, owner.gid);
  return server;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function describe(request: IncomingMessage, body: string): MetadataRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.join(',')]),
  );
  return { method: request.method ?? '', url: request.url ?? '', headers, body };
}

/** `undefined` when it is too big; the rest is then read and thrown away, so that the answer gets through. */
function readBody(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY) chunks.push(chunk);
      else resolve(undefined);
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the connection ended within the request')));
  });
}

/** The connection ends with the answer: what carries it into the machine is a process that should end, too. */
function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
}
