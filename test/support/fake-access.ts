// A way into machines that are none: a console of a few lines, and a shell that says back what it is told.
import { spawnSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import type { NodeAccess } from '../../src/ports/provider/access.ts';

export interface FakeAccess extends NodeAccess {
  readonly sizes: readonly { readonly rows: number; readonly columns: number }[];
  /** How many shells are open. */
  readonly open: number;
}

export function fakeAccess(): FakeAccess {
  const sizes: { rows: number; columns: number }[] = [];
  let open = 0;
  return {
    sizes,
    get open() {
      return open;
    },
    console: async (_, lines) => ['one', 'two', 'three'].slice(-lines),
    async *followConsole(_, lines) {
      yield* ['one', 'two', 'three'].slice(-lines);
      yield 'four';
    },
    timeline: async () => ({
      startedAt: '2026-01-02T03:04:05.000Z',
      phase: 'ready',
      readyMs: 1500,
      entries: [
        { name: 'kernel', kind: 'stage', startMs: 0, durationMs: 1500 },
        { name: 'sysctl', kind: 'step', startMs: 900, durationMs: 10, state: 'done' },
      ],
    }),
    // A real shell reads the script, so that words with spaces and quotes are judged by one.
    async run(_machine, { script }) {
      const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
      return { exitCode: status ?? 255, stdout, stderr, truncated: false };
    },
    async openShell() {
      const echo = new PassThrough();
      open += 1;
      echo.once('close', () => {
        open -= 1;
      });
      return {
        output: echo,
        write(input) {
          echo.write(input);
          if (Buffer.from(input).includes('exit')) echo.end();
        },
        async resize(size) {
          sizes.push(size);
        },
        close: () => echo.destroy(),
      };
    },
  };
}
