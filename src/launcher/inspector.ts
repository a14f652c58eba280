// Runs the program that reads a disk file, and returns what it found.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type ErrorRecord, errorFromRecord, ImagoError } from '../domain/error/imago-error.ts';
import type { Json } from '../domain/value/json.ts';
import { memoryFlags } from './spawn.ts';

/** What was found on a disk. */
export interface InspectedFile {
  readonly file: string;
  readonly format: string;
  readonly fileCount: number;
  readonly inventory: { readonly os: string; readonly [part: string]: Json };
  /** For people, as Markdown. */
  readonly text: string;
}

type Answer = { readonly found: InspectedFile } | { readonly error: ErrorRecord };

export async function runInspector(
  file: string,
  words: readonly string[],
  signal: AbortSignal,
): Promise<InspectedFile> {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(fromSource ? '../inspect/main.ts' : './inspect.js', import.meta.url);
  // The channel tells the program when this process is gone, however it ended.
  const child = spawn(process.execPath, [...memoryFlags, fileURLToPath(entry), ...words, '--', file], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const pieces: Buffer[] = [];
  child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
  await once(child, 'close');
  signal.removeEventListener('abort', stop);
  const answer = parse(Buffer.concat(pieces).toString('utf8'));
  if ('error' in answer) throw errorFromRecord(answer.error);
  return answer.found;
}

function parse(text: string): Answer {
  if (text !== '') return JSON.parse(text) as Answer;
  throw new ImagoError('internal', 'The program that reads the disk ended without an answer.');
}
