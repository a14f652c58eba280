// The lock as a file that is committed beside the recipe: one line for each input, what the versions of a matrix
// share only once, and a digest over all of it, so that an edit by hand is noticed.
import { createHash } from 'node:crypto';
import { Document, isMap, isSeq, parseDocument } from 'yaml';
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  checkLockWords,
  inputKey,
  inputKinds,
  type Lock,
  type LockedInput,
  lockText,
  makeLock,
  packageSets,
} from '../../domain/lock/lock.ts';
import { type Recipe, withoutPlace } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import { variantsOf } from '../recipe/read-recipe.ts';
import { buildRules } from './rules.ts';

const heading =
  ' Made by `imago recipe lock` and meant to be committed. Do not edit it: change the recipe and lock it again.';

/** `sha256:` and the digest of a lock: what versions and layers are known by. */
export function lockDigest(lock: Lock): string {
  return `sha256:${sha256(lockText(lock))}`;
}

/** The locks are those of the recipe's variants, in their order. */
export function writeLockFile(recipe: Recipe, locks: readonly Lock[]): string {
  const [first] = locks;
  if (first === undefined) throw new ImagoError('internal', 'there is no lock to write');
  const content = {
    format: first.format,
    rules: first.rules,
    epoch: first.epoch,
    recipe: withoutPlace(recipe),
    inputs: shareInputs(locks),
  };
  const document = new Document({ digest: contentDigest(content), ...content });
  document.commentBefore = heading;
  const inputs = document.get('inputs', true);
  if (isSeq(inputs)) for (const item of inputs.items) if (isMap(item)) item.flow = true;
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

const fileInput = z.strictObject({
  kind: z.enum(inputKinds),
  name: z.string(),
  version: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  sizeBytes: z.int().min(0),
  source: z.string(),
  sets: z.array(z.enum(packageSets)).optional(),
  layer: z.int().min(0).optional(),
  installedBytes: z.int().min(0).optional(),
  private: z.literal(true).optional(),
  for: z.array(z.string()).optional(),
});

interface FileInput extends LockedInput {
  /** The Kubernetes versions that use it; all of them when absent. */
  readonly for?: readonly string[];
}

function shareInputs(locks: readonly Lock[]): readonly FileInput[] {
  const shared = new Map<string, { input: LockedInput; users: string[] }>();
  for (const { recipe, inputs } of locks) {
    for (const input of inputs) {
      const key = canonicalJson(input);
      const known = shared.get(key) ?? { input, users: [] };
      known.users.push(recipe.kubernetes ?? '');
      shared.set(key, known);
    }
  }
  return [...shared.values()]
    .sort((a, b) => (inputKey(a.input) < inputKey(b.input) ? -1 : 1))
    .map(({ input, users }) => inOrder(users.length === locks.length ? input : { ...input, for: users }));
}

const fieldOrder = Object.keys(fileInput.shape) as readonly (keyof FileInput)[];

/** The same lock is the same text, however its inputs were found. */
function inOrder(input: FileInput): FileInput {
  const fields = fieldOrder.flatMap((field) => (input[field] === undefined ? [] : [[field, input[field]]]));
  return Object.fromEntries(fields) as FileInput;
}

const lockFile = z.strictObject({
  digest: z.string(),
  format: z.literal(1),
  rules: z.int().min(1),
  epoch: z.int().min(0),
  recipe: z.looseObject({ name: z.string(), components: z.array(z.looseObject({ name: z.string() })) }),
  inputs: z.array(fileInput),
});

export interface ReadLockFile {
  readonly recipe: Recipe;
  readonly locks: readonly Lock[];
}

/** Throws `lock-invalid` when the text is not what was written. */
export function readLockFile(text: string, file: string): ReadLockFile {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) throw invalid(file, 'it is not valid YAML');
  const { digest, ...content } = (document.toJS({ maxAliasCount: 0 }) ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof digest !== 'string') throw invalid(file, 'it has no digest');
  if (contentDigest(content) !== digest)
    throw invalid(file, 'its digest does not fit its content: it was edited by hand');
  const checked = lockFile.safeParse({ digest, ...content });
  if (!checked.success)
    throw invalid(file, `${checked.error.issues[0]?.path.join('.')} is not as it should be`);
  const { rules, epoch, inputs } = checked.data;
  if (rules > buildRules)
    throw invalid(file, `it was made for build rules ${rules}, and this Imago has ${buildRules}`);
  const recipe = content.recipe as Recipe;
  const locks = variantsOf(recipe).map((variant) => {
    const own = (inputs as FileInput[]).filter(
      (input) => input.for?.includes(variant.kubernetes ?? '') !== false,
    );
    const plain = own.map(({ for: _, ...input }) => input);
    return orInvalid(file, () => {
      checkLockWords({ recipe: variant, inputs: plain });
      return makeLock(variant, plain, { rules, epoch });
    });
  });
  return { recipe, locks };
}

function contentDigest(content: object): string {
  return `sha256:${sha256(canonicalJson(content as Json))}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What is wrong with the recipe or an input of a lock makes the lock invalid, including a shape that no recipe has. */
function orInvalid<T>(file: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const why = error instanceof ImagoError ? error.message.replace(/\.$/, '') : 'its recipe is malformed';
    throw invalid(file, why);
  }
}

function invalid(file: string, why: string): ImagoError {
  return new ImagoError('lock-invalid', `${file} cannot be used: ${why}.`);
}

/** Throws `lock-invalid` when the digest is another one, or the lock is not one that this Imago can build. */
export function checkLock(given: Lock, digest: string): Lock {
  const lock = requireLock(given);
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

/** Returns a lock that comes from outside if it is one, and its words follow their grammars; else throws `lock-invalid`. */
export function requireLock(lock: Lock): Lock {
  if (typeof lock !== 'object' || lock === null || lock.format !== 1 || !Array.isArray(lock.inputs)) {
    throw new ImagoError('lock-invalid', 'What was given is not a lock.');
  }
  orInvalid('The lock', () => checkLockWords(lock));
  return lock;
}
