import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { commandServer } from './foreign-guest.ts';

const id = '0b0e7c2a-0000-4000-8000-000000000001';

/** What a shell of the machine answers to these lines. */
async function answers(...lines: readonly string[]) {
  const shell = spawn('sh', ['-c', commandServer, 'sh', 'stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const out = text(shell.stdout);
  shell.stdin.end(`${lines.join('\n')}\n`);
  await once(shell, 'close');
  return (await out)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { stdout64, stderr64, ...rest } = JSON.parse(line) as Record<string, string>;
      const read = (base64 = '') => Buffer.from(base64, 'base64').toString('utf8');
      return { ...rest, stdout: read(stdout64), stderr: read(stderr64) };
    });
}

const ask = (script: string, timeoutMs = 60_000) => JSON.stringify({ id, script, timeoutMs });

describe('the command port of a disk without the agent', () => {
  it('runs each script with the characters that it has', async () => {
    const words = 'a"b\\c\\\\d\\"e\\n $HOME `x` %s \t tab ü ","timeoutMs":1} "script":" \u001b[0m \u0001\\1';
    const [first, second, third] = await answers(
      ask(`cat <<'end'\n${words}\nend\necho "on err" >&2; exit 7`),
      ask('printf %s "$((1 + 1))"'),
      ask('cat'),
    );
    expect(first).toEqual({ id, exitCode: 7, stdout: `${words}\n`, stderr: 'on err\n', truncated: false });
    expect(second).toMatchObject({ exitCode: 0, stdout: '2' });
    expect(third).toMatchObject({ exitCode: 0, stdout: '' });
  });

  it('ends a script that takes too long, cuts long output, and ignores noise', async () => {
    const told = await answers(
      'noise',
      '{"id":"x"}',
      ask('sleep 600', 1),
      ask('head -c 300000 /dev/zero | tr "\\0" a'),
    );
    expect(told).toMatchObject([{ exitCode: 124 }, { exitCode: 0, truncated: true }]);
    expect(told[1]?.stdout).toBe('a'.repeat(196_608));
  });
});
