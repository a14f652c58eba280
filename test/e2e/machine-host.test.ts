// Two real machines of a pool, of an ordinary user: their networks, what they are told about themselves, and what
// becomes of them when the daemon is killed. One start of each serves all that follows, in this order.
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostMachine, MachineReportLine } from '../../src/providers/local/qemu/machine-host.ts';
import { type ChildUser, childUser, type HostChild, startHostChild } from '../support/host-child.ts';
import { type MachineDisk, makeMachineDisk, makeOverlay } from '../support/machine-disk.ts';
import { patience } from '../support/speed.ts';
import { until } from '../support/until.ts';

let folder: string;
let who: ChildUser;
let host: HostChild;
let disk: MachineDisk;
const specs = new Map<string, HostMachine>();

async function openHost(): Promise<HostChild> {
  const child = startHostChild(who, join(folder, 'host'), join(folder, 's'));
  await child.call('adopt');
  return child;
}

async function machine(id: string, machineId: string): Promise<HostMachine> {
  const place = join(folder, id);
  await mkdir(place);
  const path = await makeOverlay(disk, join(place, 'disk.qcow2'));
  await who.give(place);
  const { kernel, initrd, cmdline } = disk;
  return {
    ...{ id, folder: place, disk: path, boot: { kind: 'direct', kernel, initrd, cmdline } },
    ...{ cpus: 1, memoryMb: 512 },
    network: { pool: 'blue', endpoints: 'config', forwards: [{ guestPort: 7000 }] },
    metadata: {
      ...{ machineId, name: id, pool: 'blue', size: 'small', region: 'local', tags: { colour: 'blue' } },
      image: { gallery: 'main', image: 'node', version: '1.2.3', digest: 'sha256:0' },
      userData: Buffer.from(`config of ${id}`).toString('base64'),
    },
  };
}

async function run(id: string, script: string): Promise<string> {
  const result = await host.call('runCommand', id, script, { timeoutMs: patience(240_000) });
  expect({ ...result, script }).toMatchObject({ exitCode: 0, truncated: false });
  return result.stdout;
}

/** A request by hand, so that every header is ours. The answer has its head. */
function request(
  address: string,
  path: string,
  headers: readonly string[],
  method = 'GET',
  body = '',
): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: any', ...headers, ...length, '', ''].join('\\r\\n');
  return `bash -c 'exec 3<>/dev/tcp/${address}/80; printf "%b" "$0" >&3; cat <&3' '${head}${body}'; echo`;
}

const machineIds = {
  one: '11111111-1111-4111-8111-111111111111',
  two: '22222222-2222-4222-8222-222222222222',
};

const imds = (path: string, headers = ['Metadata: true']) => request('169.254.169.254', path, headers);
const version = 'api-version=2021-02-01';
const userDataOf = `/metadata/instance/compute/userData?${version}&format=text`;

async function firstReport(id: string, not?: string): Promise<MachineReportLine> {
  const found = async () => {
    const report = await host.call('report', id);
    return report?.phase === 'ready' && report.document.bootId !== not && report;
  };
  return until(`${id} reports`, found, 500).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${(await host.call('console', id, 40)).join('\n')}`);
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imh-'));
  who = await childUser(folder);
  disk = await makeMachineDisk(folder);
  for (const name of ['host', 's']) {
    await mkdir(join(folder, name));
    await who.give(join(folder, name));
  }
  host = await openHost();
  for (const [id, machineId] of Object.entries(machineIds)) {
    const spec = await machine(id, machineId);
    specs.set(id, spec);
    await host.call('start', spec);
  }
});

afterAll(async () => {
  await host.call('close', { leaveRunning: false, deadlineMs: 1 }).catch(() => undefined);
  await host.kill();
  await rm(folder, { recursive: true, force: true });
});

describe('two machines of a pool', () => {
  it('start, and report', async () => {
    await firstReport('one');
    await firstReport('two');
    const status = await readFile(`/proc/${(await host.call('status', 'one')).pid}/status`, 'utf8');
    expect(Number(/^Uid:\t(\d+)/m.exec(status)?.[1])).toBe(who.user?.uid ?? process.getuid?.());
  });

  it('reach each other, and are reached by the ports that lead to them', async () => {
    const script = [
      `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalPort => 7000, Listen => 5, ReuseAddr => 1) or die;`,
      `open(STDOUT, ">", "/dev/null"); exit if fork; while (my $c = $s->accept) { print $c "I am two\\n"; close $c }'`,
    ].join(' ');
    await run('two', script);
    const two = await host.call('status', 'two');
    expect(await run('one', `bash -c 'cat </dev/tcp/${two.address}/7000'`)).toBe('I am two\n');
    expect(await readAll(two.forwards[0]?.hostPort ?? 0)).toBe('I am two\n');
    const routes = await run('one', 'cat /proc/net/route');
    expect(routes.match(/^\S+\t00000000\t/gm)).toHaveLength(1);
  });

  it('reach no service of this host but the endpoints that their config names', async () => {
    const servers = ['127.0.0.1', '127.0.0.1', '0.0.0.0'].map((address) =>
      createServer((socket) => socket.end('reached\n')).listen(0, address),
    );
    try {
      await Promise.all(servers.map((server) => server.listening || once(server, 'listening')));
      const [named, hidden, wide] = servers.map((server) => (server.address() as AddressInfo).port);
      const own = Object.values(networkInterfaces())
        .flatMap((cards = []) => cards)
        .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
      const { metadata } = specs.get('one') as HostMachine;
      const userData = Buffer.from(`http://168.63.129.1:${named}/`).toString('base64');
      await host.call('setMetadata', 'one', { ...metadata, userData });
      const call = (address: string, port: number | undefined) =>
        run('one', `timeout 60 bash -c 'cat </dev/tcp/${address}/${port}' 2>&1 || true`);
      expect(await call('168.63.129.1', named)).toBe('reached\n');
      for (const address of ['168.63.129.1', '168.63.129.2', '168.63.129.16'])
        expect(await call(address, hidden), address).toContain('Connection refused');
      expect(await call('168.63.129.1', wide)).toContain('Connection refused');
      if (own !== undefined) expect(await call(own, wide)).toContain('Connection refused');
      await host.call('setMetadata', 'one', metadata);
      expect(await call('168.63.129.1', named)).toContain('Connection refused');
      expect(await run('one', imds(userDataOf))).toContain(metadata.userData);
    } finally {
      for (const server of servers) server.close();
    }
  });

  it('are told about themselves by Azure’s rules, and only about themselves', async () => {
    const document = await run('one', imds(`/metadata/instance?${version}`));
    const { compute, network } = JSON.parse(document.slice(document.indexOf('{'))) as Record<
      string,
      Record<string, unknown>
    >;
    expect(compute).toMatchObject({
      ...{ name: 'one', vmId: '11111111-1111-4111-8111-111111111111', vmScaleSetName: 'blue' },
      ...{ tags: 'colour:blue', userData: Buffer.from('config of one').toString('base64') },
      storageProfile: { imageReference: { exactVersion: '1.2.3' } },
    });
    const one = await host.call('status', 'one');
    expect(network?.interface).toMatchObject([
      { ipv4: { ipAddress: [{ privateIpAddress: one.address }] } },
      { ipv4: { ipAddress: [{ privateIpAddress: '168.63.129.100' }] } },
    ]);
    const forged = ['Metadata: true', 'X-Machine: two', 'X-Real-Ip: 198.18.0.11', 'Forwarded: for=two'];
    expect(await run('one', imds(userDataOf, forged))).toContain(
      Buffer.from('config of one').toString('base64'),
    );
    expect(await run('two', imds(userDataOf))).toContain(Buffer.from('config of two').toString('base64'));
    const wrong = [imds(userDataOf, []), 'sleep 1', imds('/metadata/instance'), imds('/metadata/none')];
    const answers = await run('two', wrong.join('; '));
    expect(answers.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 400', 'HTTP/1.1 404']);
    // The other machine's way to its metadata is not in the network that both are in.
    const neighbour = (await host.call('status', 'two')).address;
    const through = `bash -c 'exec 3<>/dev/tcp/${neighbour}/80' 2>&1; true`;
    expect(await run('one', through)).toMatch(/refused/);
  });

  it('say to the platform that they are provisioned, or why not', async () => {
    const body =
      '<Health><GoalStateIncarnation>1</GoalStateIncarnation><Container><ContainerId>22222222-2222-4222-8222-222222222222</ContainerId><RoleInstanceList><Role><Health><State>Ready</State></Health></Role></RoleInstanceList></Container></Health>';
    const post = (id: string) =>
      run(id, request('168.63.129.16', '/machine?comp=health', ['x-ms-version: 2012-11-30'], 'POST', body));
    expect(await post('two')).toContain('HTTP/1.1 200');
    expect(await host.call('status', 'two')).toMatchObject({ health: { state: 'Ready' } });
    expect(await post('one')).toContain('HTTP/1.1 400');
    expect((await host.call('status', 'one')).health).toBeUndefined();
  });

  it('live on when the daemon is killed, and a question asked meanwhile is answered by the next one', async () => {
    const before = await host.call('list');
    await run('one', `(sleep 3; ${imds(userDataOf)}) >/run/late 2>&1 </dev/null & true`);
    await host.kill();
    await new Promise((resolve) => setTimeout(resolve, 5000));
    host = await openHost();
    expect(await host.call('list')).toEqual(before);
    const userData = Buffer.from('another config').toString('base64');
    const metadata = specs.get('one')?.metadata;
    if (metadata !== undefined) await host.call('setMetadata', 'one', { ...metadata, userData });
    const waiting = 'while ! grep -q HTTP /run/late; do sleep 0.5; done; cat /run/late';
    expect(await run('one', waiting)).toContain('HTTP/1.1 200');
    expect(await run('one', imds(userDataOf))).toContain(userData);
    expect((await host.call('report', 'two'))?.phase).toBe('ready');
  });

  it('tell by exit code and both outputs what became of a command', async () => {
    const script = 'echo "out ä \\"quoted\\""; echo err >&2; exit 7';
    expect(await host.call('runCommand', 'one', script, { timeoutMs: patience(240_000) })).toMatchObject({
      ...{ exitCode: 7, stderr: 'err\n' },
    });
  });

  it('stay the same machine through a restart of their own', async () => {
    const { pid, address } = await host.call('status', 'two');
    const first = (await host.call('report', 'two'))?.document.bootId;
    await host
      .call('runCommand', 'two', 'systemctl --no-block reboot', { timeoutMs: patience(60_000) })
      .catch(() => undefined);
    await firstReport('two', first);
    expect(await host.call('status', 'two')).toMatchObject({ state: 'running', pid, address });
  });

  it('end by the power button or by themselves, and leave nothing when removed', async () => {
    const stopping = host.call('stop', 'one', { deadlineMs: 240_000 });
    await host
      .call('runCommand', 'two', 'systemctl --no-block poweroff', { timeoutMs: patience(60_000) })
      .catch(() => undefined);
    expect(await stopping).toEqual({ forced: false });
    expect(await host.call('status', 'one')).toMatchObject({ state: 'stopped', end: { kind: 'stopped' } });
    await until('two is off', async () => (await host.call('status', 'two')).state !== 'running', 240);
    expect(await host.call('status', 'two')).toMatchObject({
      state: 'stopped',
      end: { kind: 'powered-off' },
    });
    for (const id of ['one', 'two']) {
      await host.call('remove', id);
      expect(await readdir(join(folder, id))).toEqual(['disk.qcow2']);
    }
    expect(await readdir(join(folder, 's'))).toEqual([]);
  });
});

function readAll(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.once('close', () => resolve(text));
    socket.once('error', reject);
  });
}
