// Runs the daemon's program as a process of its own, and listens to what it says until it is up or down.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ResponseOf } from '../api/contract/types.ts';
import { type ErrorRecord, errorFromRecord, ImagoError } from '../domain/error/imago-error.ts';
import type { Settings } from '../domain/settings/settings.ts';
import type { StatePaths } from './paths.ts';

/** What the daemon's process says on its way up or down, one JSON document a line. */
export type DaemonMessage =
  | { readonly progress: string }
  | { readonly ready: true }
  | { readonly stopped: StoppedProcesses }
  | { readonly doctor: ResponseOf<'doctor'> }
  | { readonly error: ErrorRecord };

export interface StoppedProcesses {
  readonly daemon?: number;
  readonly postgres?: number;
  /** How many machines were stopped; they run again with the next daemon. */
  readonly machines?: number;
  /** It did not exit in time and was killed; nothing that was committed is lost. */
  readonly forced: boolean;
}

/** The file descriptor on which a daemon's process sends its messages. */
const MESSAGE_FD = 3;

export interface Messages {
  /** Ends at the deadline. Throws what the process reports, or that it exited silently. */
  until(deadline: number): AsyncGenerator<DaemonMessage>;
}

/**
 * Left alone, V8 lets a heap grow to four times what is in use before it looks for garbage, and a plan over a large
 * catalog leaves a process three times as large for good. ProviderCall sooner costs a tenth of the plan's time.
 */
export const memoryFlags = ['--max-semi-space-size=8', '--heap-growing-percent=50'] as const;

/** The daemon's program and its arguments, for those who run it in the foreground or as a service. */
export function daemonCommand(flags: Settings = {}): readonly string[] {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(fromSource ? '../daemon/main.ts' : './daemon.js', import.meta.url);
  return [process.execPath, ...memoryFlags, fileURLToPath(entry), ...flagWords(flags)];
}

export function flagWords(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Starts the program apart from the caller: it keeps running when the caller exits. */
export function runEntry(paths: StatePaths, words: readonly string[]): Messages {
  const [program = '', ...args] = daemonCommand();
  const errors = openErrors(paths);
  const child = spawn(program, [...args, ...words], {
    cwd: '/',
    detached: true,
    env: {
      ...process.env,
      IMAGO_HOME: paths.home,
      IMAGO_MESSAGE_FD: String(MESSAGE_FD),
      IMAGO_BACKGROUND: '1',
      // Set by a daemon that runs this command, if one does: this is not a restart of that daemon.
      IMAGO_RESTARTS: undefined,
      // The daemon acts for many callers and must not hold the token of one.
      IMAGO_TOKEN: undefined,
    },
    stdio: ['ignore', errors?.file ?? 'ignore', errors?.file ?? 'ignore', 'pipe'],
  });
  if (errors !== undefined) closeSync(errors.file);
  // A process that could not be started is detected by its silence.
  child.once('error', () => undefined);
  child.unref();
  return { until: (deadline) => readMessages(child, deadline, () => tailOf(paths, errors?.start)) };
}

async function* readMessages(
  child: ChildProcess,
  deadline: number,
  lastWords: () => string,
): AsyncGenerator<DaemonMessage> {
  const pipe = child.stdio[MESSAGE_FD] as Readable;
  const timer = setTimeout(() => pipe.destroy(), Math.max(0, deadline - performance.now()));
  let text = '';
  try {
    for await (const chunk of pipe.setEncoding('utf8')) {
      text += chunk;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const message = JSON.parse(text.slice(0, end)) as DaemonMessage;
        text = text.slice(end + 1);
        if ('error' in message) throw errorFromRecord(message.error);
        yield message;
      }
    }
  } catch (error) {
    if (performance.now() < deadline) throw error;
  } finally {
    clearTimeout(timer);
    pipe.destroy();
  }
  if (performance.now() >= deadline) return;
  const words = lastWords();
  throw new ImagoError('daemon-start-failed', words || 'The daemon ended without saying why.');
}

function openErrors(paths: StatePaths): { readonly file: number; readonly start: number } | undefined {
  try {
    const file = openSync(paths.daemonErrors, 'a', 0o600);
    return { file, start: statSync(paths.daemonErrors).size };
  } catch {
    return undefined;
  }
}

function tailOf(paths: StatePaths, start: number | undefined): string {
  if (start === undefined) return '';
  const said = readFileSync(paths.daemonErrors).subarray(start).toString('utf8').trim();
  const line = said.split('\n').find((candidate) => /Error|FATAL|fatal/.test(candidate));
  return line === undefined ? said.slice(0, 300) : `The daemon ended: ${line.trim()}`;
}
