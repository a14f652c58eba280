import { describe, expect, it } from 'vitest';
import { runTool } from './run-tool.ts';

const sh = '/bin/sh';

async function* endless(seen: { chunks: number }): AsyncGenerator<Buffer> {
  for (;;) {
    seen.chunks += 1;
    yield Buffer.alloc(64 * 1024);
  }
}

describe('a program that Imago runs', () => {
  it('gets the bytes that it is fed, and a small fixed environment', async () => {
    async function* input() {
      yield Buffer.from('one ');
      yield Buffer.from('two');
    }
    const result = await runTool(sh, ['-c', 'cat; echo " $TZ $EXTRA"'], {
      stdin: input(),
      env: { EXTRA: 'given' },
    });
    expect(result.stdout.toString()).toBe('one two UTC given\n');
  });

  it('fails with its exit code and its last lines', async () => {
    const run = runTool(sh, ['-c', 'echo what went wrong >&2; exit 3']);
    await expect(run).rejects.toMatchObject({
      code: 'tool-failed',
      message: 'sh failed (exit 3): what went wrong',
    });
    expect((await runTool(sh, ['-c', 'exit 3'], { accept: [0, 3] })).exitCode).toBe(3);
  });

  it('that stops reading is judged by its exit, and the feeding ends', async () => {
    const seen = { chunks: 0 };
    await expect(runTool(sh, ['-c', 'exit 4'], { stdin: endless(seen) })).rejects.toMatchObject({
      code: 'tool-failed',
    });
    const after = seen.chunks;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(seen.chunks).toBe(after);
  });

  it('that ran out of space fails with `no-space`', async () => {
    const run = runTool(sh, ['-c', 'echo "write: No space left on device" >&2; exit 1']);
    await expect(run).rejects.toMatchObject({ code: 'no-space' });
  });

  it('is ended when its input fails, and the failure is the input’s own', async () => {
    async function* broken() {
      yield Buffer.from('x');
      throw new RangeError('the source broke');
    }
    await expect(runTool(sh, ['-c', 'cat >/dev/null; sleep 60'], { stdin: broken() })).rejects.toThrow(
      'the source broke',
    );
  });

  it('is ended when the work is cancelled', async () => {
    const stop = new AbortController();
    const run = runTool(sh, ['-c', 'sleep 60 & wait'], {
      signal: stop.signal,
      stdin: endless({ chunks: 0 }),
    });
    setTimeout(() => stop.abort(), 20);
    await expect(run).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('cannot fill the memory', async () => {
    await expect(
      runTool(sh, ['-c', 'while :; do echo xxxxxxxx; done'], { maxOutput: 10_000 }),
    ).rejects.toMatchObject({
      code: 'tool-failed',
    });
  });

  it('that does not exist is missing', async () => {
    await expect(runTool('/nonexistent/program', [])).rejects.toMatchObject({ code: 'tool-missing' });
  });
});
