// How long and how wide connections to Node's own servers may be, before a request becomes one of the app's.
import type { Server, ServerOptions } from 'node:http';

/** Given when the server is made. Bodies have deadlines of their own, because an upload may take hours. */
export const serverOptions: ServerOptions = {
  /** For the head of a request: those who send it letter by letter are cut off. */
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  requestTimeout: 0,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16 * 1024,
};

const IDLE_MS = 600_000;
const MAX_CONNECTIONS = 1000;

/** Over TCP, also how many connections there may be, and how long one may neither send nor take anything. */
export function limitTcpServer<T extends Server>(server: T): T {
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;
  return server;
}
