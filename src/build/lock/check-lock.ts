// A lock that was handed over as plain data: it is what it says, or it is refused.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { checkLockWords, type Lock, lockText, makeLock } from '../../domain/lock/lock.ts';
import type { Json } from '../../domain/value/json.ts';
import { lockDigest, orInvalid } from './lock-file.ts';
import { buildRules } from './rules.ts';

/** Throws `lock-invalid` when the digest is another one, or the lock is not one that this Imago can build. */
export function checkLock(given: Json, digest: string): Lock {
  const lock = parseLock(given);
  if (lock.rules > buildRules) {
    throw new ImagoError(
      'lock-invalid',
      `The lock was made for build rules ${lock.rules}, and this Imago has ${buildRules}.`,
    );
  }
  if (lockDigest(lock) !== digest) {
    throw new ImagoError(
      'lock-invalid',
      'The lock does not have the digest that it is known by: it was changed.',
    );
  }
  const again = makeLock(lock.recipe, lock.inputs, lock);
  if (lockText(again) !== lockText(lock))
    throw new ImagoError('lock-invalid', 'The inputs of the lock are not in order.');
  return again;
}

/** Returns the lock if its words follow their grammars; else throws `lock-invalid`. */
export function parseLock(given: Json): Lock {
  const lock = given as Lock;
  if (typeof lock !== 'object' || lock === null || lock.format !== 1 || !Array.isArray(lock.inputs)) {
    throw new ImagoError('lock-invalid', 'What was given is not a lock.');
  }
  orInvalid('The lock', () => checkLockWords(lock));
  return lock;
}
