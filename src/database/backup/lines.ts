// Reads a backup line by line, and keeps the sum of what was read.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import {
  type BackupEnd,
  type BackupHeader,
  type BackupRow,
  invalid,
  readHeader,
  readLine,
} from './format.ts';

/** Every method throws `backup-invalid` for a file that is damaged or cut short. */
export interface BackupLines {
  /** The first line. */
  header(): Promise<BackupHeader>;
  next(): Promise<string | BackupRow | BackupEnd>;
  /** The sha256 of all lines so far. */
  sum(): string;
  requireEnd(): Promise<void>;
  close(): void;
}

export function openLines(source: Readable): BackupLines {
  const lines = splitLines(source);
  const hash = createHash('sha256');

  async function nextLine(): Promise<string> {
    const { value, done } = await lines.next();
    if (done === true) throw invalid('its end is missing');
    hash.update(`${value}\n`);
    return value;
  }

  return {
    header: async () => readHeader(await nextLine()),
    next: async () => readLine(await nextLine()),
    sum: () => hash.copy().digest('hex'),
    async requireEnd() {
      const { done } = await lines.next();
      if (done !== true) throw invalid('it goes on after its end');
    },
    close: () => source.destroy(),
  };
}

async function* splitLines(source: Readable): AsyncGenerator<string, undefined> {
  const text = createGunzip();
  source.once('error', (error) => text.destroy(error));
  source.pipe(text);
  text.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of text) {
      const parts = `${rest}${chunk}`.split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
    }
  } catch (error) {
    throw invalid('it cannot be unpacked', error);
  }
  if (rest !== '') throw invalid('its last line is not whole');
}
