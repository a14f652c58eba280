// Gives the errors of the file system that a user can act on a name of their own.
import { ImagoError } from '../../domain/error/imago-error.ts';

/** A full disk or quota is `no-space`; everything else stays what it was. */
export function nameFileError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new ImagoError('no-space', 'there is no space left to write a disk', { cause: error });
}
