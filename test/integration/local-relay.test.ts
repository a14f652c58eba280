// What carries a machine's requests to its own services, as QEMU starts it for each connection.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeRelay, writeRelayPrograms } from '../../src/providers/local/network/relay.ts';

let folder: string;
let server: Server | undefined;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "imago's-relay-"));
  server = undefined;
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  await rm(folder, { recursive: true, force: true });
});

/** Answers what it was sent, the other way round, when the sender has ended. */
function listen(): Promise<void> {
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    buffer(socket).then(
      (bytes) => socket.end(bytes.reverse()),
      () => undefined,
    );
  });
  server = listening;
  return new Promise((resolve) => listening.listen(join(folder, 'imds'), resolve));
}

async function startRelay(perl?: string): Promise<ChildProcess> {
  const script = join(folder, 'relay.sh');
  const programs = await writeRelayPrograms(folder);
  await writeRelay({ script, programs, sockets: folder, ...(perl === undefined ? {} : { perl }) });
  const child = spawn('/bin/sh', [script, 'imds'], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

async function exchange({ stdin, stdout }: ChildProcess, bytes: Buffer): Promise<Buffer> {
  if (stdin === null || stdout === null) throw new Error('no pipes');
  stdin.end(bytes);
  return buffer(stdout);
}

describe.each([
  ['Perl', undefined],
  ['Node, where there is no Perl', '/nowhere/perl'],
])('a connection carried by %s', (_name, perl) => {
  it('has every byte of both sides, and ends with the answer', async () => {
    await listen();
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) % 251));
    const child = await startRelay(perl);
    const answer = await exchange(child, bytes);
    expect(answer.equals(Buffer.from(bytes).reverse())).toBe(true);
  });

  it('waits for a service that starts anew', async () => {
    const child = await startRelay(perl);
    const answer = exchange(child, Buffer.from('abc'));
    await new Promise((resolve) => setTimeout(resolve, 600));
    await listen();
    expect((await answer).toString()).toBe('cba');
  });
});
