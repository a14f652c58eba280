// The daemon's place in the network of a pool: it gives the machines there their addresses. The network itself
// needs nobody; machines that have an address go on while the daemon is away.
import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { answerDhcp } from '../network/dhcp.ts';

export interface PoolGroup {
  readonly group: string;
  readonly port: number;
}

/**
 * The multicast group of a pool. Another pool, and a pool of that name in another state folder, has another
 * one: there are 2^24 groups, each with 12 000 ports.
 */
export function poolGroup(hostKey: string, pool: string): PoolGroup {
  const hash = createHash('sha256').update(`${hostKey}\0${pool}`).digest();
  return {
    group: `239.${hash.readUInt8(0)}.${hash.readUInt8(1)}.${hash.readUInt8(2)}`,
    port: 20_000 + (hash.readUInt32BE(4) % 12_000),
  };
}

export interface PoolStation {
  close(): Promise<void>;
}

/** Joins the group and answers the machines that `addressOf` knows. */
export async function joinPool(
  { group, port }: PoolGroup,
  addressOf: (mac: string) => string | undefined,
): Promise<PoolStation> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  try {
    await bind(socket, group, port);
  } catch (cause) {
    await closeSocket(socket);
    throw new ImagoError(
      'machine-start-failed',
      `the network of the pool cannot be joined: ${String(cause)}`,
      {
        hint: 'Machines of a pool reach each other by multicast on the loopback device; this computer refuses it.',
        cause,
      },
    );
  }
  socket.on('error', () => undefined);
  socket.on('message', (frame) => {
    const reply = answerDhcp(frame, addressOf);
    if (reply !== undefined) socket.send(reply, port, group, () => undefined);
  });
  return { close: () => closeSocket(socket) };
}

function bind(socket: Socket, group: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, group, () => {
      try {
        socket.addMembership(group, '127.0.0.1');
        socket.setMulticastInterface('127.0.0.1');
        socket.off('error', reject);
        resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
}

function closeSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.close(() => resolve());
    } catch {
      resolve();
    }
  });
}
