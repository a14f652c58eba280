// Reads a passphrase from the file that a flag names, so that it is never part of a command line.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type Invocation, text } from '../spec/command.ts';
import { readText } from './read-text.ts';

export async function readPassphrase(invocation: Invocation): Promise<string | undefined> {
  const file = text(invocation, 'passphrase-file');
  if (file === undefined) return undefined;
  const passphrase = (await readText(file)).replace(/\r?\n$/, '');
  if (passphrase !== '') return passphrase;
  throw new ImagoError('backup-passphrase', `The file ${file} is empty.`);
}
