import { describe, expect, it } from 'vitest';
import { memorySystem } from '../../../test/support/agent/memory-system.ts';
import { getPlain } from './plain-http.ts';

const url = 'http://127.0.0.1:10248/healthz';

describe('a plain request', () => {
  it('says where, what and how, and has the answer', async () => {
    const system = memorySystem();
    system.program(() => ({ stdout: 'HTTP/1.1 503 x\r\nContent-Length: 6\r\n\r\ngrüß' }));
    expect(await getPlain(system, url, { Metadata: 'true' })).toMatchObject({ status: 503, body: 'grüß' });
    const [command = ''] = system.commands;
    expect(command).toMatch(/ bash 127\.0\.0\.1 10248 GET \/healthz HTTP\/1\.0\r\n/);
    expect(command).toContain('Metadata: true\r\n');
    expect(command.endsWith('Connection: close\r\n\r\n')).toBe(true);
  });

  it.each([
    ['a connection that is refused', { exitCode: 1 }, /nothing listens on port 10248/],
    ['silence', { exitCode: 137, timedOut: true }, /no response/],
    ['a truncated response', { stdout: 'HTTP/1.1 200 x\r\nContent-Length: 6\r\n\r\ngr' }, /incomplete/],
    ['a response that is not HTTP', { stdout: 'SSH-2.0' }, /incomplete/],
  ])('has none of %s', async (_, result, why) => {
    const system = memorySystem();
    system.program(() => result);
    expect(await getPlain(system, url)).toMatchObject({ kind: 'none', why: expect.stringMatching(why) });
  });

  it('starts nothing for an address of another kind', async () => {
    const system = memorySystem();
    expect(await getPlain(system, 'https://127.0.0.1/')).toMatchObject({ kind: 'none' });
    expect(system.commands).toEqual([]);
  });
});
