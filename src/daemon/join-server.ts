// Gives nodes of this host the credentials to join the cluster of their pool. A node asks with the token of its managed
// identity, when it needs them; its config holds no secret. Serves loopback only, where machines reach it by the port in
// their config, so the port stays the same.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { hostOfMachines } from '../domain/cluster/control-plane.ts';
import { ensureImagoError } from '../domain/error/imago-error.ts';
import type { JoinSource } from '../domain/node-config/with-join.ts';
import { writeFileDurably } from '../host/files/durable-files.ts';
import type { PoolCluster } from '../ports/kube/clusters.ts';
import type { Identities, KnownNode } from '../ports/provider/identities.ts';
import { ensureOwnCertificate } from './http/own-certificate.ts';

export interface JoinServerParts {
  readonly home: string;
  readonly identities: Identities;
  /** Throws `cluster-not-found`. */
  clusterOf(name: string): Promise<PoolCluster>;
  onTrouble(error: unknown): void;
}

export interface JoinServer {
  /** What a node config needs for its nodes to join the cluster. Starts the server. */
  source(cluster: string): Promise<JoinSource>;
  /** Starts the server if nodes of an earlier daemon can call it. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

interface Listening {
  readonly server: Server;
  readonly port: number;
  readonly ca: string;
}

const requestMs = 20_000;
const path = /^\/clusters\/([a-z0-9-]+)$/;
const caOnNode = '/var/lib/kubelet/ca.crt';

export function createJoinServer(parts: JoinServerParts): JoinServer {
  const folder = join(parts.home, 'join');
  const portFile = join(folder, 'port');
  let listening: Promise<Listening> | undefined;

  async function start(): Promise<Listening> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const files = await ensureOwnCertificate(folder, hostOfMachines);
    const server = createServer(
      {
        ...{ cert: readFileSync(files.certificate), key: readFileSync(files.key) },
        ...{ headersTimeout: requestMs, requestTimeout: requestMs, maxHeaderSize: 16_384 },
      },
      (request, response) => void answer(parts, request, response),
    );
    const known = existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) : 0;
    const port = await listen(server, known);
    if (port !== known) await writeFileDurably(portFile, String(port), 0o600);
    return { server, port, ca: readFileSync(files.ca, 'utf8') };
  }

  function started(): Promise<Listening> {
    listening ??= start().catch((error: unknown) => {
      listening = undefined;
      throw error;
    });
    return listening;
  }

  return {
    async source(cluster) {
      const { port, ca } = await started();
      return {
        url: `https://${hostOfMachines}:${port}/clusters/${cluster}`,
        resource: resourceOf(cluster),
        ca,
      };
    },
    async resume() {
      if (existsSync(portFile)) await started();
    },
    async close() {
      const { server } = (await listening?.catch(() => undefined)) ?? {};
      server?.closeAllConnections();
      await new Promise<void>((resolve) =>
        server === undefined ? resolve() : server.close(() => resolve()),
      );
    },
  };
}

function resourceOf(cluster: string): string {
  return `imago:cluster/${cluster}`;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

async function answer(
  parts: JoinServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const cluster = path.exec(request.url ?? '')?.[1];
    if (cluster === undefined || request.method !== 'GET') return void response.writeHead(404).end();
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const found = parts.identities.identify(token, resourceOf(cluster));
    if (found === undefined) return void response.writeHead(401).end();
    const text = await kubeconfigFor(parts, cluster, found);
    if (text === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  } catch (error) {
    parts.onTrouble(error);
    const { retryable } = ensureImagoError(error);
    response.writeHead(retryable ? 503 : 500).end();
  }
}

async function kubeconfigFor(
  { clusterOf }: JoinServerParts,
  name: string,
  { node }: KnownNode,
): Promise<string | undefined> {
  const { joining, nodeName } = await clusterOf(name);
  if (joining === undefined) return undefined;
  const call = { signal: AbortSignal.timeout(requestMs) };
  const token = await joining.makeToken(nodeName({ name: node }), call);
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'bootstrap' },
    clusters: [{ name: 'cluster', cluster: { server: joining.server, 'certificate-authority': caOnNode } }],
    users: [{ name: 'bootstrap', user: { token } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'cluster', user: 'bootstrap' } }],
  });
}
