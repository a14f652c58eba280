// A program between two streams: it reads what comes, and what it writes is passed on piece by piece.
import { spawn } from 'node:child_process';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { feedProcess } from './feed-process.ts';
import { systemPath } from './run-tool.ts';

export interface StreamProcessOptions {
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

/**
 * What the program writes. Ends it when the reader stops early. Throws `tool-failed` with its last lines when it
 * does not end well, and `cancelled` when the signal aborts.
 */
export async function* streamProcess(
  program: string,
  args: readonly string[],
  options: StreamProcessOptions = {},
): AsyncGenerator<Buffer> {
  throwIfAborted(options.signal);
  const child = spawn(program, args, {
    cwd: options.folder,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { PATH: systemPath, HOME: '/nonexistent', LC_ALL: 'C.UTF-8', TZ: 'UTC', ...options.env },
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-8192);
  });
  const kill = () => child.kill('SIGKILL');
  options.signal?.addEventListener('abort', kill, { once: true });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new ImagoError('tool-missing', `cannot start ${program}`, { cause })),
    );
    child.once('close', (code) => resolve(code));
  });
  ended.catch(() => undefined);
  const fed = feedProcess(options.stdin, child.stdin, kill);
  let finished = false;
  try {
    for await (const chunk of child.stdout ?? []) yield chunk as Buffer;
    const [code, fault] = await Promise.all([ended, fed]);
    finished = true;
    throwIfAborted(options.signal);
    if (fault !== undefined) throw fault;
    if (code !== 0) {
      const name = program.slice(program.lastIndexOf('/') + 1);
      throw new ImagoError(
        'tool-failed',
        `${name} failed (exit ${code}): ${stderr.trim().split('\n').slice(-5).join('; ')}`,
      );
    }
  } finally {
    options.signal?.removeEventListener('abort', kill);
    if (!finished) {
      kill();
      await Promise.allSettled([ended, fed]);
    }
  }
}
