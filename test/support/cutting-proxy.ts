// A proxy before a Unix socket that cuts connections: as a network does, without a word, wherever the bytes are.
import { connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly socketPath: string;
  /** How many connections it has cut. */
  readonly cuts: number;
  /** The latest bytes that were passed on to a client, as text. */
  readonly returned: string;
  /** Cuts every connection that is open now, by reset. */
  cutAll(): void;
  /** Cuts each new connection when so many bytes have come back through it; `undefined`: no longer. */
  cutAfter(bytes: (() => number) | undefined): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(socketPath: string, target: string): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let cuts = 0;
  let returned = '';
  let budget: (() => number) | undefined;

  const server = createServer((near) => {
    const far = connect(target);
    let left = budget?.() ?? Number.POSITIVE_INFINITY;
    const cut = () => {
      if (!open.delete(near)) return;
      cuts += 1;
      near.destroy();
      far.destroy();
    };
    open.add(near);
    far.on('data', (bytes) => {
      if (bytes.length < left) {
        left -= bytes.length;
        near.write(bytes, () => {
          returned = bytes.toString('latin1');
        });
        return;
      }
      near.write(bytes.subarray(0, left), cut);
    });
    near.on('data', (bytes) => far.write(bytes));
    for (const socket of [near, far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(near);
        near.destroy();
        far.destroy();
      });
    }
    near.on('cut', cut);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    get cuts() {
      return cuts;
    },
    get returned() {
      return returned;
    },
    cutAll() {
      for (const socket of open) socket.emit('cut');
    },
    cutAfter(bytes) {
      budget = bytes;
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
