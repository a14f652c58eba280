// `imago azure emulate` as a process: one line of JSON, https with its own authority, gone at SIGTERM.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Ready {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  readonly subscription: string;
  readonly pid: number;
}

async function get(ready: Ready, path: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${ready.token}` };
  const call = request(`${ready.url}${path}`, { ca: readFileSync(ready.ca), headers }).end();
  const [response] = await once(call, 'response');
  response.resume();
  return response.statusCode;
}

test('imago azure emulate prints where it is, answers with its own authority, and ends at SIGTERM', {
  timeout: 60_000,
}, async () => {
  const words = ['azure', 'emulate', '--json', '--any-subscription', '--clock', '1000'];
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const [line] = await once(createInterface(child.stdout), 'line');
    const ready: Ready = JSON.parse(line);
    expect(await get(ready, '/subscriptions?api-version=2022-12-01')).toBe(200);
    const list =
      '/subscriptions/1/resourceGroups/rg/providers/Microsoft.Compute/galleries?api-version=2024-03-03';
    expect(await get(ready, list)).toBe(200);
    expect(await get({ ...ready, token: 'other' }, list)).toBe(401);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(existsSync(ready.ca)).toBe(false);
    expect(() => process.kill(ready.pid, 0)).toThrow();
  } finally {
    child.kill('SIGKILL');
  }
});
