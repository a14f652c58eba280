// The other side of a webhook: takes what is posted, and answers as it is told.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HookReceiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** What it answers; a number is a status, `hang` is no answer at all. */
  answer: (received: Received, count: number) => number | 'hang';
  /** Resolves when so many have come. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startHookReceiver(): Promise<HookReceiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
    received.push(one);
    const answer = receiver.answer(one, received.length);
    if (answer !== 'hang') response.writeHead(answer, { location: 'http://127.0.0.1:1/' }).end('{}');
    for (const look of [...waiting]) look();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: HookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: () => 204,
    until: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
