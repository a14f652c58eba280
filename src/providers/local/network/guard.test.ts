import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostMachine } from '../qemu/machine-host.ts';
import { namedPorts, perlGuard } from './guard.ts';

const [syn, ack, fin] = [2, 16, 1];
let folder: string;
let servers: readonly [Server, Server];
let guard: ChildProcess;
let machine: Socket;
let received: Buffer[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-guard-'));
  const [out, into, ports] = ['out', 'in', 'ports'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(join(folder, 'guard.pl'), perlGuard);
  await writeFile(ports, '6443\n');
  received = [];
  const listen = (path: string) => {
    const server = createServer();
    const socket = new Promise<Socket>((done) => server.once('connection', done));
    server.listen(path);
    return { server, socket };
  };
  const [first, second] = [listen(out), listen(into)];
  servers = [first.server, second.server];
  guard = spawn('/usr/bin/perl', [
    join(folder, 'guard.pl'),
    String(process.pid),
    out,
    into,
    ports,
    '203.0.113.7',
  ]);
  machine = await first.socket;
  const network = await second.socket;
  let bytes = Buffer.alloc(0);
  network.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
      const size = bytes.readUInt32BE(0);
      received.push(Buffer.from(bytes.subarray(4, 4 + size)));
      bytes = bytes.subarray(4 + size);
    }
  });
});

afterEach(async () => {
  guard.kill();
  machine.destroy();
  for (const server of servers) server.close();
  await rm(folder, { recursive: true, force: true });
});

function frame(to: string, protocol: number, port: number, { flags = syn, fragment = 0 } = {}): Buffer {
  const bytes = Buffer.alloc(54);
  bytes.writeUInt16BE(0x0800, 12);
  bytes.writeUInt8(0x45, 14);
  bytes.writeUInt16BE(fragment, 20);
  bytes.writeUInt8(protocol, 23);
  bytes.set(to.split('.').map(Number), 30);
  bytes.writeUInt16BE(port, 36);
  bytes.writeUInt8(flags, 47);
  bytes.writeUInt16BE(0xfffe, 50);
  return bytes;
}

const [tcp, udp, icmp] = [6, 17, 1];
const arp = Buffer.concat([Buffer.alloc(12), Buffer.from([8, 6]), Buffer.alloc(40, 7)]);

/** What becomes of each frame: `passed`, `refused` (marked so that it is answered with a reset), or `dropped`. */
async function fateOf(frames: readonly Buffer[]): Promise<readonly string[]> {
  const marked = frames.map((one, index) => Buffer.concat([one, Buffer.from([index])]));
  for (const one of [...marked, arp]) {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(one.length);
    machine.write(Buffer.concat([size, one]));
  }
  await expect.poll(() => received.at(-1)?.equals(arp)).toBe(true);
  return marked.map((one) => {
    const found = received.find((other) => other.at(-1) === one.at(-1) && other.length === one.length);
    if (found === undefined) return 'dropped';
    return found.equals(one) ? 'passed' : found.readUInt8(47) === (syn | fin) ? 'refused' : 'changed';
  });
}

describe('the filter of what a machine sends', () => {
  const own = Object.values(networkInterfaces())
    .flatMap((cards = []) => cards)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

  it('refuses connections to this host, at every address that leads there', async () => {
    const addresses = [
      '168.63.129.1',
      '168.63.129.3',
      '168.63.129.16',
      '168.63.129.255',
      '127.0.0.1',
      '127.1.2.3',
    ];
    const others = ['0.0.0.0', '169.254.169.254', '203.0.113.7', '224.0.0.1', ...own];
    const fates = await fateOf([...addresses, ...others].map((address) => frame(address, tcp, 5432)));
    expect(new Set(fates)).toEqual(new Set(['refused']));
  });

  it('drops all else that is sent to this host', async () => {
    const frames = ['168.63.129.1', '127.0.0.1', '203.0.113.7'].flatMap((address) => [
      frame(address, udp, 5353),
      frame(address, icmp, 0),
      frame(address, 132, 80),
      frame(address, tcp, 6443, { fragment: 0x2000 }),
      frame(address, tcp, 6443, { fragment: 1 }),
    ]);
    const odd = Buffer.from(frame('8.8.8.8', tcp, 80));
    odd.writeUInt16BE(0x8100, 12);
    const ipv6 = Buffer.from(odd);
    ipv6.writeUInt16BE(0x86dd, 12);
    expect(new Set(await fateOf([...frames, odd, ipv6]))).toEqual(new Set(['dropped']));
  });

  it('passes what leads outside, its own services, named endpoints, and answers', async () => {
    const frames = [
      ...[frame('192.0.2.80', tcp, 443), frame('192.0.2.80', udp, 443), frame('10.0.0.1', icmp, 0)],
      ...[frame('168.63.129.16', tcp, 80), frame('168.63.129.2', udp, 53), frame('168.63.129.2', tcp, 53)],
      ...[frame('255.255.255.255', udp, 67), frame('168.63.129.1', udp, 67)],
      ...[frame('168.63.129.1', tcp, 6443), frame('168.63.129.1', tcp, 40_000, { flags: syn | ack })],
    ];
    expect(new Set(await fateOf(frames))).toEqual(new Set(['passed']));
  });

  it('takes endpoints that are named while the machine runs', async () => {
    expect(await fateOf([frame('168.63.129.1', tcp, 8080)])).toEqual(['refused']);
    await writeFile(join(folder, 'ports'), '6443\n8080\n');
    received = [];
    expect(await fateOf([frame('168.63.129.1', tcp, 8080)])).toEqual(['passed']);
  });

  it('keeps the checksum of what it refuses right', async () => {
    await fateOf([frame('127.0.0.1', tcp, 80)]);
    expect(received[0]?.readUInt16BE(50)).toBe(0xfffd);
  });

  it('ends with its machine', async () => {
    const ended = new Promise((done) => guard.once('exit', done));
    machine.destroy();
    expect(await ended).toBe(0);
  });
});

describe('named endpoints', () => {
  const text = JSON.stringify({
    a: 'https://168.63.129.1:6443',
    b: 'http://168.63.129.1:8080/x',
    c: '//1.2.3.4:1',
  });
  const userData = Buffer.from(text).toString('base64');
  const spec = (network: Partial<HostMachine['network']>) =>
    ({ network: { forwards: [], ...network }, metadata: { userData } }) as unknown as HostMachine;

  it('are those that the addresses of the config have', () => {
    expect(namedPorts(spec({ endpoints: 'config' }))).toEqual([6443, 8080]);
  });

  it('are only those that are given, where the config does not count', () => {
    expect(namedPorts(spec({}))).toEqual([]);
    expect(namedPorts(spec({ endpoints: [9] }))).toEqual([9]);
  });
});
