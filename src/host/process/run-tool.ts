// Starts a program, feeds it, and turns every way in which that can go wrong into one error. Programs
// get a small fixed environment, so that a user's settings do not reach what is built.
import { spawn } from 'node:child_process';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { feedProcess } from './feed-process.ts';

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Added to the fixed environment (PATH, HOME, LC_ALL, TZ). */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to the program as it reads; nothing is kept in memory. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly folder?: string;
  /** What the program may print before it counts as broken. 64 MiB unless given. */
  readonly maxOutput?: number;
  /** Exit codes that are an answer rather than a failure. Only 0 unless given. */
  readonly accept?: readonly number[];
}

export interface RunResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function failure(program: string, exit: string, stderr: string): ImagoError {
  const lines = stderr.trim().split('\n').slice(-5);
  if (/No space left on device/i.test(stderr)) {
    return new ImagoError('no-space', `${program} ran out of space: ${lines.at(-1)}`);
  }
  return new ImagoError('tool-failed', `${program} failed (${exit}): ${lines.join('; ')}`, {
    details: { program, exit },
  });
}

/**
 * Runs a program to its end. Ends it and its children when the signal aborts, and then throws
 * `cancelled`. Throws `tool-missing` when it cannot be started, `no-space` when it ran out of space and
 * `tool-failed` with its last lines otherwise. An error of the `stdin` source is thrown as it is.
 */
export async function runTool(
  path: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  throwIfAborted(options.signal);
  const program = baseName(path);
  const child = spawn(path, args, {
    cwd: options.folder,
    detached: true,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: {
      PATH: `${path.includes('/') ? `${path.slice(0, path.lastIndexOf('/'))}:` : ''}${systemPath}`,
      HOME: '/nonexistent',
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      ...options.env,
    },
  });

  // The program leads a group of its own, so that what it started ends with it.
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      child.kill(signal);
    }
  };
  const limit = options.maxOutput ?? 64 * 1024 * 1024;
  const stdout: Buffer[] = [];
  let printed = 0;
  let stderr = '';
  let tooMuch = false;
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.length;
    if (printed <= limit) stdout.push(chunk);
    else if (!tooMuch) {
      tooMuch = true;
      kill('SIGKILL');
    }
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-65536);
  });

  let killTimer: NodeJS.Timeout | undefined;
  const stop = () => {
    kill('SIGTERM');
    killTimer ??= setTimeout(() => kill('SIGKILL'), 5000);
  };
  options.signal?.addEventListener('abort', stop, { once: true });

  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new ImagoError('tool-missing', `cannot start ${program}`, { cause })),
    );
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const fed = feedProcess(options.stdin, child.stdin, () => kill('SIGKILL'));
  try {
    const [{ code, signal }, fault] = await Promise.all([ended, fed]);
    throwIfAborted(options.signal);
    if (fault !== undefined) throw fault;
    if (tooMuch) throw failure(program, `printed more than ${limit} bytes`, stderr);
    if (code === null) throw failure(program, signal ?? 'ended', stderr);
    if (!(options.accept ?? [0]).includes(code)) throw failure(program, `exit ${code}`, stderr);
    return { exitCode: code, stdout: Buffer.concat(stdout), stderr };
  } finally {
    options.signal?.removeEventListener('abort', stop);
    clearTimeout(killTimer);
  }
}
