// The texts of a recipe that are given in place or by their file.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { InputCache } from '../inputs/input-cache.ts';
import type { ReadText } from './bake-component.ts';

export function textReader(inputs: InputCache, lock: Lock): ReadText {
  return async ({ content, file }) => {
    if (content !== undefined) return content;
    const input = lock.inputs.find((one) => one.kind === 'config' && one.name === file);
    const stored = input && (await inputs.find(input.sha256));
    if (stored === undefined)
      throw new ImagoError('input-missing', `The file ${file} is not in the cache any more.`);
    return (await inputs.readBytes(stored)).toString('utf8');
  };
}
