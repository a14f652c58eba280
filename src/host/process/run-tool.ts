// Starts a program, feeds it, and turns every way in which that can go wrong into one error. Programs
// get a small fixed environment, so that a user's settings do not reach what is built.
import { type ChildProcess, spawn } from 'node:child_process';
import { throwIfAborted } from '../../async/abort.ts';
import type { ErrorCode } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { feedProcess } from './feed-process.ts';

export interface StartOptions {
  readonly signal?: AbortSignal | undefined;
  /** Added to the fixed environment (PATH, HOME, LC_ALL, TZ). */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Written to the program as it reads; nothing is kept in memory. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  readonly folder?: string;
  /** Time to exit after the signal aborts, before the program is killed. Defaults to 5 s. */
  readonly graceMs?: number;
}

export interface RunOptions extends StartOptions {
  /** Output limit, after which the program fails. Defaults to 64 MiB. */
  readonly maxOutput?: number;
  /** Exit codes that are not a failure. Defaults to 0 only. */
  readonly accept?: readonly number[];
}

export interface RunResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface StartedProcess {
  readonly child: ChildProcess;
  /** Signals the program and all that it started. */
  kill(signal?: NodeJS.Signals): void;
  /**
   * Resolves when the program has exited and has been fed. Rejects with an error of the `stdin` source, with
   * `cancelled` if the signal aborted, and with the error code `missing` if the program cannot be started.
   */
  readonly exit: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Starts a program in a process group of its own. The caller reads its output. */
export function startProcess(
  path: string,
  args: readonly string[],
  options: StartOptions,
  missing: ErrorCode = 'tool-missing',
): StartedProcess {
  throwIfAborted(options.signal);
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
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      child.kill(signal);
    }
  };
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new ImagoError(missing, `cannot start ${baseName(path)}`, { cause })),
    );
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  let killTimer: NodeJS.Timeout | undefined;
  const stop = () => {
    const { graceMs = 5000 } = options;
    kill(graceMs === 0 ? 'SIGKILL' : 'SIGTERM');
    killTimer ??= setTimeout(kill, graceMs);
  };
  options.signal?.addEventListener('abort', stop, { once: true });
  const exit = Promise.all([ended, feedProcess(options.stdin, child.stdin, kill)])
    .then(([result, fault]) => {
      throwIfAborted(options.signal);
      if (fault !== undefined) throw fault;
      return result;
    })
    .finally(() => {
      options.signal?.removeEventListener('abort', stop);
      clearTimeout(killTimer);
    });
  exit.catch(() => undefined);
  return { child, kill, exit };
}

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
 * Runs a program to its end. Stops it and its children when the signal aborts, and then throws
 * `cancelled`. Throws `tool-missing` if it cannot be started, `no-space` if it ran out of space, and
 * `tool-failed` with its last lines otherwise. An error of the `stdin` source is thrown as it is.
 */
export async function runTool(
  path: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const { child, kill, exit } = startProcess(path, args, options);
  const program = baseName(path);
  const limit = options.maxOutput ?? 64 * 1024 * 1024;
  const stdout: Buffer[] = [];
  let printed = 0;
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.length;
    if (printed <= limit) stdout.push(chunk);
    else kill();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-65536);
  });
  const { code, signal } = await exit;
  if (printed > limit) throw failure(program, `printed more than ${limit} bytes`, stderr);
  if (code === null) throw failure(program, signal ?? 'ended', stderr);
  if (!(options.accept ?? [0]).includes(code)) throw failure(program, `exit ${code}`, stderr);
  return { exitCode: code, stdout: Buffer.concat(stdout), stderr };
}

/**
 * Yields what a program writes, and stops the program if the reader stops early. Throws `tool-failed` with its last
 * lines if it fails, and `cancelled` if the signal aborts.
 */
export async function* streamTool(
  path: string,
  args: readonly string[],
  options: StartOptions = {},
): AsyncGenerator<Buffer> {
  const { child, kill, exit } = startProcess(path, args, { ...options, graceMs: 0 });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-8192);
  });
  let finished = false;
  try {
    for await (const chunk of child.stdout ?? []) yield chunk as Buffer;
    const { code } = await exit;
    finished = true;
    if (code !== 0) throw failure(baseName(path), `exit ${code}`, stderr);
  } finally {
    if (!finished) {
      kill();
      await exit.catch(() => undefined);
    }
  }
}
