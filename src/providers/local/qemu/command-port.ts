// Runs scripts in a machine through its command port: a line of JSON for each request and each response. QEMU buffers
// requests until a process in the machine opens the port; so nothing is sent before that, or an abandoned request would
// still run later.
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { CommandResult } from './machine-host.ts';

export interface CommandPort {
  run(
    script: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<CommandResult>;
  /** Reconnects if the connection was lost. */
  keep(): void;
  /** Fails commands in progress: the machine closed its end, or stopped. */
  fail(why: string): void;
  close(): void;
}

export interface CommandPortOptions {
  readonly path: string;
  readonly machine: string;
  /** Whether a program in the machine has the port open. */
  listening(): Promise<boolean>;
}

interface Waiting {
  resolve(result: CommandResult): void;
  reject(error: Error): void;
}

const MAX_LINE = 8 * 1024 * 1024;
const ASK_EVERY_MS = 250;
/** Time for the machine itself to end a script at its time limit and report it. */
const GRACE_MS = 15_000;

export function openCommandPort({ path, machine, listening }: CommandPortOptions): CommandPort {
  const waiting = new Map<string, Waiting>();
  let socket: Socket | undefined;
  let closed = false;

  function fail(why: string): void {
    for (const { reject } of waiting.values())
      reject(new ImagoError('machine-command-lost', `the command in ${machine} was lost: ${why}`));
    waiting.clear();
  }

  function connected(): Socket {
    if (socket !== undefined && !socket.destroyed) return socket;
    const made = connect(path);
    let rest = '';
    made.setEncoding('utf8');
    made.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE) made.destroy();
      for (const line of lines) settle(waiting, line);
    });
    made.on('error', () => undefined);
    made.once('close', () => {
      if (socket === made) fail('the connection ended');
    });
    socket = made;
    return made;
  }

  async function send(script: string, timeoutMs: number, signal: AbortSignal): Promise<CommandResult> {
    const id = randomUUID();
    try {
      return await new Promise<CommandResult>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        connected().write(`${JSON.stringify({ id, script, timeoutMs })}\n`);
      });
    } finally {
      waiting.delete(id);
    }
  }

  async function untilListening(signal: AbortSignal): Promise<void> {
    while (!(await listening())) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
    signal.throwIfAborted();
  }

  return {
    async run(script, { timeoutMs, signal }) {
      const late = (what: string) =>
        new ImagoError('machine-command-timeout', `${machine} ${what} in ${timeoutMs} ms`);
      await within(timeoutMs, late('does not take commands'), signal, untilListening);
      return within(timeoutMs + GRACE_MS, late('gave no answer to a command'), signal, (ending) =>
        send(script, timeoutMs, ending),
      );
    },
    keep() {
      if (!closed) connected();
    },
    fail,
    close() {
      closed = true;
      const open = socket;
      socket = undefined;
      open?.destroy();
      fail('the machine was released');
    },
  };
}

async function within<T>(
  ms: number,
  late: ImagoError,
  signal: AbortSignal | undefined,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(late), ms);
  try {
    return await work(signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** Ignores an unrequested or invalid response. */
function settle(waiting: Map<string, Waiting>, line: string): void {
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return;
  }
  const { id, exitCode, stdout, stderr, stdout64, stderr64, truncated } = answer ?? {};
  const asked = typeof id === 'string' ? waiting.get(id) : undefined;
  if (asked === undefined || typeof exitCode !== 'number') return;
  asked.resolve({
    exitCode,
    stdout: textOf(stdout, stdout64),
    stderr: textOf(stderr, stderr64),
    truncated: truncated === true,
  });
}

/** A disk without the agent answers in base64. */
function textOf(text: unknown, base64: unknown): string {
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64').toString('utf8');
  return typeof text === 'string' ? text : '';
}
