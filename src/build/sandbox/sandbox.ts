// Runs package tools on a root file system apart from the machine: no network, no services, its own processes.
// Scripts are handed to the machine's shell inside the namespaces, and enter the new root from there.
import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { feedProcess } from '../../host/process/feed-process.ts';
import { systemPath, throwIfAborted } from '../../host/process/run-tool.ts';
import { streamProcess } from '../../host/process/stream-process.ts';
import { findNamespace, type Namespace } from './namespace.ts';

export interface SandboxRun {
  readonly script: string;
  /** Passed to the script as $1, $2, …. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the script reads. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
  readonly log?: (line: string) => void;
  /** Said in errors. */
  readonly what: string;
}

export interface Sandbox {
  readonly asRoot: boolean;
  /** Runs a script to its end. `build-failed` with its last lines when it fails, `no-space` when that is why. */
  run(run: SandboxRun): Promise<void>;
  /** What a script prints, piece by piece. */
  stream(run: Omit<SandboxRun, 'log' | 'stdin'>): AsyncGenerator<Buffer>;
  /** Makes an empty folder in which the sandbox can own files. */
  makeFolder(path: string): Promise<void>;
  /** Removes a folder with files of any owner. Does nothing when there is none. */
  remove(path: string): Promise<void>;
  /** What a person types to run a script inside. */
  commandLine(script: string): readonly string[];
}

const keptLines = 40;

export function createSandbox(namespace: Namespace = findNamespace()): Sandbox {
  const [program, ...enter] = namespace.command;
  const argumentsOf = ({ script, args = [] }: Pick<SandboxRun, 'script' | 'args'>) => [
    ...enter,
    ...['/bin/sh', '-eu', '-c', script, 'imago', ...args],
  ];
  const environment = (env: SandboxRun['env']) => ({
    PATH: systemPath,
    HOME: '/',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    ...env,
  });

  async function run(job: SandboxRun): Promise<void> {
    throwIfAborted(job.signal);
    const child = spawn(program, argumentsOf(job), {
      stdio: [job.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: environment(job.env),
      cwd: '/',
    });
    const lines: string[] = [];
    const keep = (line: string) => {
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      job.log?.(line);
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', keep);
    }
    const kill = () => child.kill('SIGKILL');
    const fed = feedProcess(job.stdin, child.stdin, kill);
    job.signal?.addEventListener('abort', kill, { once: true });
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', (cause) =>
          reject(new ImagoError('sandbox-missing', `cannot start ${program}`, { cause })),
        );
        child.once('close', resolve);
      });
      throwIfAborted(job.signal);
      const fault = await fed;
      if (fault !== undefined) throw fault;
      if (code !== 0) throw failure(job.what, code, lines);
    } finally {
      job.signal?.removeEventListener('abort', kill);
    }
  }

  return {
    asRoot: namespace.asRoot,
    run,
    stream: (job) =>
      streamProcess(program, argumentsOf(job), {
        signal: job.signal,
        env: environment(job.env),
        folder: '/',
      }),
    async makeFolder(path) {
      await mkdir(path, { recursive: true, mode: 0o755 });
    },
    async remove(path) {
      if (namespace.asRoot) await rm(path, { recursive: true, force: true });
      else await run({ script: 'rm -rf -- "$1"', args: [path], what: 'removing what a build left' });
    },
    commandLine: (script) => [program, ...enter, '/bin/sh', '-c', script],
  };
}

function failure(what: string, code: number | null, lines: readonly string[]): ImagoError {
  const text = lines.join('\n');
  if (/No space left on device|Disk quota exceeded/i.test(text)) {
    return new ImagoError('no-space', `${what} ran out of space.`);
  }
  if (/unshare: .*(?:Operation not permitted|Permission denied)|newuidmap|newgidmap|uid_map/i.test(text)) {
    return new ImagoError('sandbox-missing', `This machine does not allow user namespaces: ${lines.at(-1)}`);
  }
  const telling = lines.filter((line) => /error|fail|cannot|unable|not found/i.test(line)).slice(-3);
  const shown = telling.length > 0 ? telling : lines.slice(-3);
  return new ImagoError('build-failed', `${what} failed (exit ${code ?? 'by signal'}): ${shown.join('; ')}`, {
    details: { lines },
  });
}
