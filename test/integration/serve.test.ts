// `imago serve`: what a service manager relies on. systemd's own tools are the judges.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createImago, type Imago } from '../support/imago.ts';
import { patience } from '../support/speed.ts';

const root = resolve(import.meta.dirname, '../..');
let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
});
afterAll(() => imago.end());

/** Receives what a daemon sends to systemd. Node.js has no datagram sockets in the file system. */
const receiver = `
import socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print('listening', flush=True)
while True: print(server.recv(4096).decode().replace('\\n', ' '), flush=True)
`;

test('the process becomes the daemon, tells systemd that it is ready, and stops cleanly on SIGTERM', async () => {
  const socket = join(imago.folder, 'notify');
  const manager = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    let told = '';
    manager.stdout.on('data', (chunk: Buffer) => {
      told += chunk.toString();
    });
    await expect.poll(() => told, { timeout: patience(20_000) }).toContain('listening');
    const { child, finished } = imago.start(['serve'], {
      env: { NOTIFY_SOCKET: socket, IMAGO_TOKEN: 'of-a-caller' },
    });
    await expect.poll(() => told, { timeout: patience(60_000) }).toContain('READY=1');
    // Ready means that the first request is answered, by this process.
    const { daemon } = await imago.json<{ daemon: { pid: number } }>(['status']);
    expect(daemon.pid).toBe(child.pid);
    const environment = readFileSync(`/proc/${daemon.pid}/environ`, 'utf8');
    expect(environment).not.toContain('of-a-caller');
    expect((await imago.run(['serve'])).err).toContain('already running');
    child.kill('SIGTERM');
    expect((await finished).code).toBe(0);
    expect((await imago.run(['status', '--json'])).out).toContain('daemon-not-running');
    // Only the daemon reported: PostgreSQL and other child processes do not know the socket.
    expect(told.match(/READY=1/g)).toHaveLength(1);
  } finally {
    manager.kill();
  }
});

test('the systemd unit is valid, and states no setting that systemd does not know', () => {
  const folder = mkdtempSync(join(tmpdir(), 'imago-unit-'));
  try {
    const unit = readFileSync(join(root, 'examples/systemd/imago.service'), 'utf8');
    const file = join(folder, 'imago.service');
    // systemd-analyze checks that the programs exist, and these are where the package is.
    writeFileSync(file, unit.replaceAll('/usr/local/bin/imago', join(root, 'bin/imago')));
    const said = execFileSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    expect(said).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
