import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { shellInput } from './shell-input.ts';

function terminal(isTTY: boolean) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const screen = Object.assign(new PassThrough(), { isTTY, rows: 24, columns: 80 });
  return { stdin, screen, leaving: new AbortController() };
}

async function readAll(source: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of source) lines.push(JSON.parse(Buffer.from(line).toString()));
  return lines;
}

const typed = (text: string) => ({ input: Buffer.from(text).toString('base64') });

it('sends the size of the terminal, its changes and the keys, until Ctrl-]', async () => {
  const { stdin, screen, leaving } = terminal(true);
  const all = readAll(shellInput(stdin, screen, leaving.signal));
  stdin.write('ls\r');
  await new Promise((resolve) => setImmediate(resolve));
  Object.assign(screen, { rows: 50 });
  screen.emit('resize');
  stdin.write('q\u001dnever sent');
  expect(await all).toEqual([
    { rows: 24, columns: 80 },
    typed('ls\r'),
    { rows: 50, columns: 80 },
    typed('q'),
  ]);
  expect([screen.listenerCount('resize'), stdin.listenerCount('data')]).toEqual([0, 0]);
});

it('ends when the other side is gone', async () => {
  const { stdin, screen, leaving } = terminal(true);
  const all = readAll(shellInput(stdin, screen, leaving.signal));
  await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  expect(await all).toEqual([{ rows: 24, columns: 80 }]);
});

it('types what comes from a pipe as it is, and leaves at its end', async () => {
  const { stdin, screen, leaving } = terminal(false);
  const all = readAll(shellInput(stdin, screen, leaving.signal));
  stdin.end('echo \u001d\n');
  expect(await all).toEqual([typed('echo \u001d\n')]);
});
