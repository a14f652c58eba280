// What every part of the reader answers with when the bytes cannot be true.
import { ImagoError } from '../../domain/error/imago-error.ts';

export function ext4Invalid(message: string): ImagoError {
  return new ImagoError('ext4-invalid', `the file system cannot be read: ${message}`);
}
