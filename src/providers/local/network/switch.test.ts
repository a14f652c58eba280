import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { poolNetwork } from './plan.ts';
import { perlSwitch } from './switch.ts';

interface Member {
  readonly mac: string;
  readonly received: Buffer[];
  readonly process: ChildProcess;
  readonly socket: Socket;
  send(frame: Buffer): void;
}

let folder: string;
let servers: Server[];
let members: Member[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-switch-'));
  await writeFile(join(folder, 'switch.pl'), perlSwitch);
  servers = [];
  members = [];
});

afterEach(async () => {
  for (const { process: child, socket } of members) {
    child.kill();
    socket.destroy();
  }
  for (const server of servers) server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A machine as its switch sees it: frames on a stream, each behind its length. */
async function enter(pool: string, number: number): Promise<Member> {
  const mac = `0211223344${number.toString(16).padStart(2, '0')}`;
  const place = join(folder, pool);
  await mkdir(place, { recursive: true });
  const card = join(folder, `${pool}-${number}`);
  const server = createServer();
  const connected = new Promise<Socket>((done) => server.once('connection', done));
  server.listen(card);
  servers.push(server);
  const args = [join(folder, 'switch.pl'), String(process.pid), card, place, mac, `198.18.0.${number}`];
  const child = spawn('/usr/bin/perl', args, { stdio: 'inherit' });
  const socket = await connected;
  const received: Buffer[] = [];
  let bytes = Buffer.alloc(0);
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
      const size = bytes.readUInt32BE(0);
      received.push(Buffer.from(bytes.subarray(4, 4 + size)));
      bytes = bytes.subarray(4 + size);
    }
  });
  const send = (frame: Buffer) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(frame.length);
    socket.write(Buffer.concat([size, frame]));
  };
  const member = { mac, received, process: child, socket, send };
  members.push(member);
  return member;
}

function frameTo(mac: string, text: string): Buffer {
  return Buffer.concat([Buffer.from(`${mac}02000000000188b5`, 'hex'), Buffer.from(text)]);
}

const texts = ({ received }: Member) => received.map((frame) => frame.subarray(14).toString());
const everyone = 'ffffffffffff';

describe('the network of a pool', () => {
  it('carries a frame to the machine that it is for, and to all if it is for all or for an unknown one', async () => {
    const [one, two, three] = [await enter('blue', 1), await enter('blue', 2), await enter('blue', 3)];
    one.send(frameTo(two.mac, 'for two'));
    one.send(frameTo(everyone, 'for all'));
    one.send(frameTo('02aaaaaaaaaa', 'for whom?'));
    two.send(frameTo(one.mac, 'for one'));
    await expect.poll(() => texts(two)).toEqual(['for two', 'for all', 'for whom?']);
    await expect.poll(() => texts(three)).toEqual(['for all', 'for whom?']);
    await expect.poll(() => texts(one)).toEqual(['for one']);
  });

  it('keeps the order of frames, and does not wait for a machine that does not read', async () => {
    const [one, two, deaf] = [await enter('blue', 1), await enter('blue', 2), await enter('blue', 3)];
    deaf.process.kill('SIGSTOP');
    const body = 'x'.repeat(1400);
    const count = 500;
    for (let index = 0; index < count; index += 1) one.send(frameTo(two.mac, `${index} ${body}`));
    for (let index = 0; index < 50; index += 1) one.send(frameTo(deaf.mac, body));
    one.send(frameTo(two.mac, 'last'));
    await expect.poll(() => texts(two).at(-1)).toBe('last');
    const order = texts(two)
      .slice(0, -1)
      .map((text) => Number.parseInt(text, 10));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    deaf.process.kill('SIGCONT');
  });

  it('is another one for each pool', async () => {
    const [one, stranger, friend] = [await enter('blue', 1), await enter('red', 2), await enter('red', 3)];
    one.send(frameTo(everyone, 'blue'));
    one.send(frameTo(stranger.mac, 'blue'));
    friend.send(frameTo(everyone, 'red'));
    await expect.poll(() => texts(stranger)).toEqual(['red']);
    expect(texts(friend)).toEqual([]);
  });

  it('finds a machine again whose switch was restarted, and ends with the machine', async () => {
    const [one, two] = [await enter('blue', 1), await enter('blue', 2)];
    two.process.kill('SIGKILL');
    await new Promise((done) => two.process.once('exit', done));
    one.send(frameTo(two.mac, 'lost'));
    servers[1]?.close();
    await rm(join(folder, 'blue-2'), { force: true });
    const again = await enter('blue', 2);
    // As on any network, a frame that is sent while the switch is being found again can be lost.
    await expect
      .poll(() => {
        one.send(frameTo(two.mac, 'found'));
        return texts(again)[0];
      })
      .toBe('found');
    const ended = new Promise((done) => again.process.once('exit', done));
    again.socket.destroy();
    expect(await ended).toBe(0);
    expect(existsSync(join(folder, 'blue', again.mac))).toBe(true);
  });
});

interface RequestChange {
  readonly type?: number;
  readonly mac?: string;
  readonly options?: readonly number[];
  readonly broadcast?: boolean;
}

function request(from: string, { type = 1, options = [], broadcast = false }: RequestChange = {}): Buffer {
  const bytes = Buffer.from(from, 'hex');
  const bootp = Buffer.alloc(300);
  bootp.set([1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef]);
  if (broadcast) bootp.writeUInt16BE(0x8000, 10);
  bootp.set(bytes, 28);
  bootp.set([0x63, 0x82, 0x53, 0x63, 0, 53, 1, type, ...options, 255], 236);
  const frame = Buffer.alloc(42 + bootp.length);
  frame.set([255, 255, 255, 255, 255, 255, ...bytes, 8, 0, 0x45]);
  frame.writeUInt16BE(28 + bootp.length, 16);
  frame.set([64, 17], 22);
  frame.set([0, 0, 0, 0, 255, 255, 255, 255, 0, 68, 0, 67], 26);
  frame.writeUInt16BE(8 + bootp.length, 38);
  bootp.copy(frame, 42);
  return frame;
}

function read(frame: Buffer | undefined) {
  if (frame === undefined) return undefined;
  const bootp = frame.subarray(42);
  return {
    to: frame.subarray(0, 6).toString('hex'),
    transaction: bootp.subarray(4, 8).toString('hex'),
    address: bootp.subarray(16, 20).join('.'),
    type: bootp[242],
    lease: bootp.subarray(251, 255).toString('hex'),
    mask: bootp.subarray(257, 261).join('.'),
  };
}

describe('addresses in the network of a pool', () => {
  const server = poolNetwork.dhcp.address.split('.').map(Number);

  async function answers(...frames: readonly Buffer[]) {
    const one = members[0] ?? (await enter('blue', 10));
    const two = members[1] ?? (await enter('blue', 11));
    const before = one.received.length;
    for (const frame of frames) one.send(frame);
    one.send(frameTo(two.mac, 'asked'));
    await expect.poll(() => texts(two).at(-1)).toBe('asked');
    two.send(frameTo(one.mac, 'over'));
    await expect.poll(() => texts(one).at(-1)).toBe('over');
    return one.received.slice(before, -1);
  }

  const mac = '02112233440a';

  it('are offered and confirmed to the card that asks, permanently', async () => {
    const right = [50, 4, 198, 18, 0, 10, 54, 4, ...server];
    const [offer, ack] = await answers(request(mac), request(mac, { type: 3, options: right }));
    expect(read(offer)).toEqual({
      ...{ to: mac, transaction: 'deadbeef', address: '198.18.0.10', type: 2 },
      ...{ lease: 'ffffffff', mask: '255.255.0.0' },
    });
    expect(read(ack)).toMatchObject({ type: 5, address: '198.18.0.10' });
    expect(members[1]?.received.filter((frame) => frame.readUInt16BE(12) === 0x0800)).toEqual([]);
  });

  it('are refused to everyone if they are not its own, as the rules want it', async () => {
    const [nak] = await answers(request(mac, { type: 3, options: [50, 4, 198, 18, 0, 99] }));
    expect(read(nak)).toMatchObject({ type: 6, to: everyone, address: '0.0.0.0' });
  });

  it('are sent to all if the machine cannot take another answer', async () => {
    const [offer] = await answers(request(mac, { broadcast: true }));
    expect(read(offer)).toMatchObject({ type: 2, to: everyone });
  });

  it('are not for strangers, for those who ask another server, or for what is not a request', async () => {
    const broken = request(mac);
    const frames = [
      request('021122334499'),
      request(mac, { type: 3, options: [54, 4, 1, 2, 3, 4] }),
      request(mac, { type: 7 }),
      ...[Buffer.alloc(60), Buffer.alloc(0)],
      ...Array.from({ length: 282 }, (_, length) => broken.subarray(0, length)),
    ];
    expect(await answers(...frames)).toEqual([]);
  });

  it('come with a header whose checksum is right', async () => {
    const [offer] = await answers(request(mac));
    let sum = 0;
    for (let at = 14; at < 34; at += 2) sum += offer?.readUInt16BE(at) ?? 0;
    expect((sum & 0xffff) + (sum >>> 16)).toBe(0xffff);
  });
});
