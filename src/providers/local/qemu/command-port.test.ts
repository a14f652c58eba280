import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CommandPort, openCommandPort } from './command-port.ts';

interface Asked {
  readonly id: string;
  readonly script: string;
  readonly timeoutMs: number;
}

let folder: string;
let server: Server;
let port: CommandPort;
let listening: boolean;
let asked: Asked[];
let answer: (request: Asked, socket: Socket) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-port-'));
  listening = true;
  asked = [];
  answer = ({ id, script }, socket) =>
    socket.write(`${JSON.stringify({ id, exitCode: 0, stdout: script, stderr: '' })}\n`);
  server = createServer((socket) => {
    let rest = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const request = JSON.parse(line) as Asked;
        asked.push(request);
        answer(request, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, 's'), resolve));
  port = openCommandPort({ path: join(folder, 's'), machine: 'one', listening: async () => listening });
});
afterEach(async () => {
  port.close();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

describe('the command port', () => {
  it('gives each caller the answer to his own question, in whatever order they come', async () => {
    const kept: (() => void)[] = [];
    const reply = answer;
    answer = (request, socket) => {
      kept.unshift(() => reply(request, socket));
      if (kept.length === 3) for (const send of kept) send();
    };
    const results = await Promise.all(
      ['a', 'b', 'c'].map((script) => port.run(script, { timeoutMs: 20_000 })),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(['a', 'b', 'c']);
  });

  it('sends nothing to a machine that does not listen, so that nothing is run late', async () => {
    listening = false;
    await expect(port.run('late', { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'machine-command-timeout',
    });
    listening = true;
    await port.run('now', { timeoutMs: 20_000 });
    expect(asked.map(({ script }) => script)).toEqual(['now']);
  });

  it('ignores noise and unrequested responses, and accepts only valid responses', async () => {
    answer = ({ id }, socket) => {
      const lines = ['noise', 'null', '{"id":"none","exitCode":1}', JSON.stringify({ id })];
      for (const line of lines) socket.write(`${line}\n`);
      socket.write(`${JSON.stringify({ id, exitCode: 3, stdout: 5, truncated: true })}\n`);
    };
    expect(await port.run('x', { timeoutMs: 20_000 })).toEqual({
      ...{ exitCode: 3, stdout: '', stderr: '', truncated: true },
    });
  });

  it('fails commands in progress when the machine restarts or the connection is lost, and works again', async () => {
    answer = () => port.fail('the machine restarted');
    await expect(port.run('x', { timeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'machine-command-lost',
    });
    answer = (_, socket) => socket.destroy();
    await expect(port.run('x', { timeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'machine-command-lost',
    });
    answer = ({ id }, socket) => socket.write(`${JSON.stringify({ id, exitCode: 0 })}\n`);
    expect((await port.run('x', { timeoutMs: 20_000 })).exitCode).toBe(0);
  });

  it('stops waiting when its signal aborts', async () => {
    answer = () => undefined;
    const stop = new AbortController();
    const running = port.run('x', { timeoutMs: 20_000, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
  });
});
