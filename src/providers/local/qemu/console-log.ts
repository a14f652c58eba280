// The boot console of a machine, which QEMU appends to a file: read from its end, followed, and cut when it has
// grown too long. What a machine writes is not trusted: control characters do not reach a terminal.
import { open, stat, truncate, writeFile } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import type { MachineFiles } from './paths.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const KEPT_BYTES = 1024 * 1024;
/** A longer line is followed in parts. */
const MAX_LINE = 64 * 1024;
const FOLLOW_EVERY_MS = 200;

/** Oldest first. */
export async function lastLines(files: MachineFiles, count: number): Promise<string[]> {
  if (count <= 0) return [];
  const now = splitLines((await readEnd(files.console, KEPT_BYTES)) ?? '');
  if (now.length >= count) return now.slice(-count);
  const before = splitLines((await readEnd(files.consoleBefore, KEPT_BYTES)) ?? '');
  return [...before, ...now].slice(-count);
}

/** Keeps the end of a console that has grown too long, and cuts it. QEMU goes on at its new end. */
export async function cutConsole(files: MachineFiles, maxBytes = MAX_BYTES): Promise<void> {
  if ((await sizeOf(files.console)) <= maxBytes) return;
  await writeFile(files.consoleBefore, (await readEnd(files.console, KEPT_BYTES)) ?? '', { mode: 0o600 });
  await truncate(files.console, 0);
}

/** The last lines, then each new one, until the signal aborts or `running` says no and nothing is left. */
export async function* followLines(
  files: MachineFiles,
  count: number,
  signal: AbortSignal,
  running: () => boolean,
): AsyncGenerator<string> {
  let offset = await sizeOf(files.console);
  yield* await lastLines(files, count);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  while (!signal.aborted) {
    const wasRunning = running();
    const size = await sizeOf(files.console);
    if (size < offset) offset = 0;
    const bytes = await readPart(files.console, offset, Math.min(size - offset, KEPT_BYTES));
    offset += bytes.length;
    const lines = (rest + decoder.write(bytes)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.map(cleanLine);
    if (rest.length > MAX_LINE) {
      yield cleanLine(rest);
      rest = '';
    }
    if (bytes.length > 0) continue;
    if (!wasRunning) break;
    await pause(FOLLOW_EVERY_MS, signal);
  }
  if (rest !== '') yield cleanLine(rest);
}

function splitLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map(cleanLine);
}

/** Sequences for terminals first, as they are defined in ECMA-48, then all other control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const sequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function cleanLine(line: string): string {
  return line.replace(sequence, '').replace(control, '');
}

async function readEnd(path: string, bytes: number): Promise<string | undefined> {
  const size = await sizeOf(path);
  if (size === 0) return undefined;
  const from = Math.max(0, size - bytes);
  const text = (await readPart(path, from, size - from)).toString('utf8');
  return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
}

async function readPart(path: string, offset: number, bytes: number): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0);
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
