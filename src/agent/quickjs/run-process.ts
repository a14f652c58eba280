// Runs a process from QuickJS and collects its output, without blocking timers and ports.
import type { RunOptions, RunResult } from '../system/system.ts';
import { decodeUtf8, encodeUtf8 } from '../system/utf8.ts';
import type { QuickJsModules, QuickJsOs } from './modules.ts';

/** The maximum output of a process; the rest is read and dropped. */
const maxOutputBytes = 4 * 1024 * 1024;
const sigKill = 9;

export async function runProcess(
  { std, os }: QuickJsModules,
  command: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  const [input, output, errors] = [openPipe(os), openPipe(os), openPipe(os)];
  const pid = os.exec(command, {
    block: false,
    stdin: input.read,
    stdout: output.write,
    stderr: errors.write,
    ...(options.environment && { env: { ...std.getenviron(), ...options.environment } }),
  });
  for (const fd of [input.read, output.write, errors.write]) os.close(fd);
  if (pid > 0) feed(os, input.write, options.input ?? '');
  os.close(input.write);
  const readers = [gather(os, output.read), gather(os, errors.read)] as const;
  let timedOut = false;
  const timer = os.setTimeout(() => {
    timedOut = true;
    os.kill(pid, sigKill);
    for (const reader of readers) reader.stop();
  }, options.timeoutMs ?? 30_000);
  await Promise.all(readers.map(({ ended }) => ended));
  const exitCode = await waitFor(os, pid);
  os.clearTimeout(timer);
  const [stdout, stderr] = [readers[0].text(), readers[1].text()];
  return { exitCode, stdout, stderr, timedOut };
}

export interface Pipe {
  readonly read: number;
  readonly write: number;
}

export function openPipe(os: QuickJsOs): Pipe {
  const pair = os.pipe();
  if (pair === null) throw new Error('The kernel has no more pipes.');
  return { read: pair[0], write: pair[1] };
}

function feed(os: QuickJsOs, fd: number, text: string): void {
  if (text === '') return;
  const bytes = encodeUtf8(text);
  let done = 0;
  while (done < bytes.length) {
    const written = os.write(fd, bytes.buffer, done, bytes.length - done);
    if (written <= 0) return;
    done += written;
  }
}

function gather(os: QuickJsOs, fd: number) {
  const chunks: Uint8Array[] = [];
  const buffer = new Uint8Array(65_536);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let size = 0;
  let open = true;
  function stop(): void {
    if (!open) return;
    open = false;
    os.setReadHandler(fd, null);
    os.close(fd);
    resolve();
  }
  os.setReadHandler(fd, () => {
    const count = os.read(fd, buffer.buffer, 0, buffer.length);
    if (count <= 0) return stop();
    if (size < maxOutputBytes) chunks.push(buffer.slice(0, count));
    size += count;
  });
  return { ended, stop, text: () => decodeUtf8(join(chunks)) };
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Polls a process that has closed its output and is about to exit, with growing pauses. */
async function waitFor(os: QuickJsOs, pid: number): Promise<number> {
  if (pid <= 0) return 127;
  let pause = 1;
  for (;;) {
    const [found, status] = os.waitpid(pid, os.WNOHANG);
    if (found === pid) {
      const signal = status & 0x7f;
      return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
    }
    if (found < 0) return 127;
    const wait = pause;
    await new Promise<void>((resolve) => os.setTimeout(resolve, wait));
    pause = Math.min(pause * 2, 100);
  }
}
