// A recipe's text from its file; what it says is checked by the daemon.
import { readFile } from 'node:fs/promises';
import { ImagoError } from '../domain/errors.ts';

export async function readRecipe(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new ImagoError(
      'file-missing',
      missing ? `There is no file ${file}.` : `${file} cannot be read: ${(cause as Error).message}`,
      {
        hint: missing
          ? 'Name the recipe, or make a first one with `imago init`.'
          : 'Check the path and its permissions.',
        cause,
      },
    );
  }
}
