// A door before a registry through which some requests go wrong, as a test says: cut off while they are
// sent or answered, refused, answered wrongly, slowly or without end.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string> }
  /** The door answers in the registry's place. */
  | { readonly kind: 'answer'; readonly headers: Record<string, string>; readonly body: string }
  /** The registry's answer gets a header more. */
  | { readonly kind: 'header'; readonly name: string; readonly value: string }
  /**
   * So many bytes of the request's body go through, then the client loses its connection. Debian's registry
   * gives the upload up then; with `kept`, the door makes a whole request of what came, and stands for one that
   * goes on with it as the specification has it.
   */
  | { readonly kind: 'cut-request'; readonly after: number; readonly kept?: boolean }
  /** The registry does all that it was asked for; the client gets so many bytes of the answer. */
  | { readonly kind: 'cut-answer'; readonly after: number }
  | { readonly kind: 'flip'; readonly position: number }
  /** The answer never ends, and says nothing of its length. */
  | { readonly kind: 'endless' }
  | { readonly kind: 'silence' };

export interface FaultyRegistry extends AsyncDisposable {
  readonly host: string;
  /** Asked for every request; `undefined` lets it pass. */
  fault: (request: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly number: number;
  }) => Fault | undefined;
  /** Requests so far, as "METHOD path". */
  readonly requests: string[];
  /** Bytes of bodies that went to the registry and came from it. */
  readonly bytes: { sent: number; received: number };
}

export async function startFaultyRegistry(target: string): Promise<FaultyRegistry> {
  const server = createServer((incoming, outgoing) => {
    incoming.on('error', () => undefined);
    outgoing.on('error', () => undefined);
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const door: FaultyRegistry = {
    host,
    fault: () => undefined,
    requests: [],
    bytes: { sent: 0, received: 0 },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = incoming;
    const path = url.replace(/[?].*$/, '');
    door.requests.push(`${method} ${path}`);
    const query = url.slice(path.length);
    const fault = door.fault({ method, path, query, number: door.requests.length });
    if (fault?.kind === 'silence') return;
    if (fault?.kind === 'answer') {
      incoming.resume();
      outgoing.writeHead(200, fault.headers).end(fault.body);
      return;
    }
    if (fault?.kind === 'status') {
      incoming.resume();
      outgoing
        .writeHead(fault.status, fault.headers)
        .end('{"errors":[{"code":"TESTED","message":"a test says so"}]}');
      return;
    }
    const headers = { ...incoming.headers, host: target };
    if (fault?.kind === 'cut-request' && fault.kept === true) {
      await keepSome(incoming, current(url, path), headers, fault.after, path);
      return;
    }
    const onward = request(`http://${target}${current(url, path)}`, { method, headers });
    onward.on('error', () => outgoing.destroy());
    if (fault?.kind === 'cut-request') {
      await passUntilCut(incoming, onward, fault.after, door.bytes);
      return;
    }
    incoming.on('data', (part: Buffer) => {
      door.bytes.sent += part.length;
    });
    incoming.pipe(onward);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    if (fault?.kind === 'endless') {
      answer.resume();
      outgoing.writeHead(200);
      const more = () => {
        while (!outgoing.destroyed && outgoing.write(Buffer.alloc(1 << 16, 'x')));
      };
      outgoing.on('drain', more);
      more();
      return;
    }
    newest.delete(path);
    if (fault?.kind === 'header') outgoing.setHeader(fault.name, fault.value);
    outgoing.writeHead(answer.statusCode ?? 500, pointHere(answer.headers));
    await passAnswer(answer, outgoing, fault, door.bytes);
  }

  /** The registry names the state of an upload in its address; a client that lost an answer has an older one. */
  const newest = new Map<string, string>();
  function current(url: string, path: string): string {
    const state = newest.get(path);
    const query = new URL(url, 'http://door').searchParams;
    if (state === undefined || query.get('_state') === null) return url;
    query.set('_state', state);
    return `${path}?${query}`;
  }

  async function keepSome(
    incoming: IncomingMessage,
    url: string,
    headers: IncomingMessage['headers'],
    after: number,
    path: string,
  ): Promise<void> {
    const parts: Buffer[] = [];
    await new Promise<void>((resolve) => {
      let size = 0;
      incoming.on('data', (part: Buffer) => {
        parts.push(part);
        size += part.length;
        if (size < after) return;
        incoming.pause();
        resolve();
      });
      incoming.on('end', resolve);
    });
    const body = Buffer.concat(parts).subarray(0, after);
    door.bytes.sent += body.length;
    const length = String(body.length);
    const onward = request(`http://${target}${url}`, {
      method: 'PATCH',
      headers: { ...headers, 'content-length': length },
    });
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    answer.resume();
    const state = new URL(answer.headers.location ?? '', `http://${target}`).searchParams.get('_state');
    if (state !== null) newest.set(path, state);
    incoming.destroy();
  }

  function pointHere(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
    const location = headers.location?.replace(target, host);
    return location === undefined ? headers : { ...headers, location };
  }

  return door;
}

async function passUntilCut(
  incoming: IncomingMessage,
  onward: ReturnType<typeof request>,
  after: number,
  bytes: { sent: number },
): Promise<void> {
  let left = after;
  for await (const part of incoming) {
    const piece = (part as Buffer).subarray(0, left);
    bytes.sent += piece.length;
    if (piece.length > 0) await new Promise((resolve) => onward.write(piece, resolve));
    left -= piece.length;
    if (left === 0) break;
  }
  // The registry is given a moment to take in what was sent before it, too, loses the connection.
  await new Promise((resolve) => setTimeout(resolve, 50));
  onward.destroy();
  incoming.destroy();
}

async function passAnswer(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  fault: Fault | undefined,
  bytes: { received: number },
): Promise<void> {
  let at = 0;
  for await (const part of answer) {
    let piece = part as Buffer;
    if (fault?.kind === 'cut-answer') piece = piece.subarray(0, Math.max(0, fault.after - at));
    if (fault?.kind === 'flip' && fault.position >= at && fault.position < at + piece.length) {
      piece = Buffer.from(piece);
      piece[fault.position - at] = (piece[fault.position - at] ?? 0) ^ 1;
    }
    at += piece.length;
    bytes.received += piece.length;
    if (!outgoing.write(piece)) await once(outgoing, 'drain');
    if (fault?.kind === 'cut-answer' && at >= fault.after) break;
  }
  if (fault?.kind === 'cut-answer') {
    await new Promise((resolve) => setTimeout(resolve, 20));
    outgoing.destroy();
    return;
  }
  outgoing.end();
}
