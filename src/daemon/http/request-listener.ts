// Connects the app to the servers of Node, for the Unix socket and TCP. Reads the transport from the server that accepted
// the request, never from the connection, which loses its addresses when the client disconnects.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Server } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { App } from './app.ts';
import type { Transport } from './guard/caller.ts';
import { problemResponse, toPublicError } from './response/problem.ts';

export function createRequestListener(app: App): RequestListener {
  return getRequestListener(
    (request, { incoming }) => app.fetch(request, { transport: transportOf(incoming as IncomingMessage) }),
    {
      overrideGlobalObjects: false,
      // The address is not a URL, or the host is not a name.
      errorHandler: (thrown) =>
        problemResponse(
          thrown instanceof ImagoError
            ? toPublicError(thrown)
            : new ImagoError('input-invalid', 'The request cannot be read.', { cause: thrown }),
          randomUUID(),
        ),
    },
  );
}

function transportOf(incoming: IncomingMessage): Transport {
  const socket = incoming.socket as IncomingMessage['socket'] & { readonly server?: Server };
  if (typeof socket.server?.address() === 'string') return { kind: 'socket' };
  return {
    kind: 'tcp',
    remoteAddress: socket.remoteAddress ?? 'unknown',
    localAddress: socket.localAddress ?? 'unknown',
  };
}
