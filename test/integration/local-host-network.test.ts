// The network of a pool on the loopback device: who is answered there, and that others hear nothing of it.
import { createSocket, type Socket } from 'node:dgram';
import { afterEach, describe, expect, it } from 'vitest';
import {
  joinPool,
  type PoolGroup,
  type PoolStation,
  poolGroup,
} from '../../src/providers/local/host/pool-dhcp.ts';

const hostKey = `test-${process.pid}-${Date.now()}`;
const blue = poolGroup(hostKey, 'blue');
const red = poolGroup(hostKey, 'red');
const mac = [2, 1, 2, 3, 4, 2];

const sockets: Socket[] = [];
const stations: PoolStation[] = [];

afterEach(async () => {
  await Promise.all(stations.splice(0).map((station) => station.close()));
  await Promise.all(
    sockets.splice(0).map((socket) => new Promise<void>((done) => socket.close(() => done()))),
  );
});

/** Joins a group as QEMU does, and keeps the frames that it hears. */
async function listen({ group, port }: PoolGroup): Promise<{ socket: Socket; heard: Buffer[] }> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  sockets.push(socket);
  const heard: Buffer[] = [];
  socket.on('message', (frame) => heard.push(frame));
  await new Promise<void>((resolve) => socket.bind(port, group, resolve));
  socket.addMembership(group, '127.0.0.1');
  socket.setMulticastInterface('127.0.0.1');
  return { socket, heard };
}

function discover(): Buffer {
  const frame = Buffer.alloc(342);
  frame.set([255, 255, 255, 255, 255, 255, ...mac, 8, 0, 0x45]);
  frame.writeUInt16BE(328, 16);
  frame.set([64, 17], 22);
  frame.set([255, 255, 255, 255, 0, 68, 0, 67], 30);
  frame.writeUInt16BE(308, 38);
  frame.set([1, 1, 6], 42);
  frame.set(mac, 70);
  frame.set([0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255], 278);
  return frame;
}

describe('the network of a pool', () => {
  it('gives a machine its address, and another pool hears nothing of it', async () => {
    const machine = await listen(blue);
    const stranger = await listen(red);
    const asked: string[] = [];
    stations.push(await joinPool(blue, () => '198.18.0.77'));
    stations.push(
      await joinPool(red, (address) => {
        asked.push(address);
        return '198.18.0.99';
      }),
    );
    machine.socket.send(discover(), blue.port, blue.group);
    await expect.poll(() => machine.heard.length, { timeout: 20_000 }).toBe(2);
    const offer = machine.heard.find((frame) => frame.readUInt8(42) === 2);
    expect(offer?.subarray(58, 62).join('.')).toBe('198.18.0.77');
    // What went to the first group long before this frame would have arrived before it.
    stranger.socket.send('over', red.port, red.group);
    await expect.poll(() => stranger.heard.length, { timeout: 20_000 }).toBe(1);
    expect(stranger.heard[0]?.toString()).toBe('over');
    expect(asked).toEqual([]);
  });

  it('is another one for each pool and each state folder', () => {
    const groups = new Set<string>();
    for (const key of ['one', 'two'])
      for (let pool = 0; pool < 500; pool += 1) {
        const { group, port } = poolGroup(key, `pool-${pool}`);
        groups.add(`${group}:${port}`);
      }
    expect(groups.size).toBe(1000);
    expect(poolGroup('one', 'pool-1')).toEqual(poolGroup('one', 'pool-1'));
  });
});
