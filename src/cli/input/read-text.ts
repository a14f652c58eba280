// Reads a text file that the user named.
import { readFile } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const message = missing ? `File ${file} not found.` : `Cannot read ${file}: ${(cause as Error).message}`;
    throw new ImagoError('file-missing', message, { cause });
  }
}
