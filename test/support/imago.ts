// The product as a user runs it: bin/imago in a process of its own, with a state folder that goes away.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
}

export interface Imago {
  readonly home: string;
  /** A folder for the test's own files. */
  readonly folder: string;
  run(words: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Runs with --json, expects success, and reads the document. */
  json<T>(words: readonly string[], options?: RunOptions): Promise<T>;
  /** Starts it and leaves it running. */
  start(
    words: readonly string[],
    options?: RunOptions,
  ): { readonly child: ChildProcess; readonly finished: Promise<Finished> };
  writeFile(name: string, content: string): Promise<string>;
  /** Stops daemon and database, and takes the folders away. */
  end(): Promise<void>;
}

const launcher = resolve(import.meta.dirname, '../../bin/imago');

export async function createImago(): Promise<Imago> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-test-'));
  const home = join(folder, 'state of ümago');
  function start(words: readonly string[], options: RunOptions = {}) {
    const child = spawn(launcher, words, {
      cwd: options.cwd ?? folder,
      env: {
        ...process.env,
        IMAGO_HOME: home,
        IMAGO_PROVIDER: 'sim',
        IMAGO_AGENT: 'none',
        NO_COLOR: '1',
        ...options.env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(options.input ?? '');
    return { child, finished: collect(child) };
  }
  async function run(words: readonly string[], options?: RunOptions): Promise<Finished> {
    return start(words, options).finished;
  }
  return {
    home,
    folder,
    start,
    run,
    async json<T>(words: readonly string[], options?: RunOptions): Promise<T> {
      const { code, out, err } = await run([...words, '--json'], options);
      if (code !== 0) throw new Error(`imago ${words.join(' ')} ended with ${code}: ${out}${err}`);
      return JSON.parse(out) as T;
    },
    async writeFile(name, content) {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
    async end() {
      await run(['down']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function collect(child: ChildProcess): Promise<Finished> {
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 128, out, err }));
  });
}

export const recipe = `name: node
numbering: calendar
os: linux
architecture: x64
kubernetes: 1.34.2
components:
  - name: containerd
    version: 1.7.24
`;
