// Refuses operation inputs that open directories of the daemon's host, or leave files on it, for a caller of another
// host. One schema for everything that contains recipes: a build, its variants, a release, and a release in a schedule.
import * as z from 'zod';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';

const closed = z.never().optional();
const placeless = z.looseObject({ folder: closed, roots: closed }).optional();

const remoteInput = z.looseObject({
  recipe: placeless,
  hotfix: placeless,
  keepFailed: closed,
  get builds(): z.ZodOptional<z.ZodArray<typeof remoteInput>> {
    return z.array(remoteInput).optional();
  },
  get variants(): z.ZodOptional<z.ZodArray<typeof remoteInput>> {
    return z.array(remoteInput).optional();
  },
  get input(): z.ZodOptional<typeof remoteInput> {
    return remoteInput.optional();
  },
});

/** Throws `recipe-local-input`. A wrong shape passes: the operation kind refuses it, and it opens nothing. */
export function refuseHostFiles(input: Json): void {
  const issues = remoteInput.safeParse(input).error?.issues ?? [];
  const found = issues.find((issue) => issue.code === 'invalid_type' && issue.expected === 'never');
  if (found === undefined) return;
  throw new ImagoError(
    'recipe-local-input',
    `\`${found.path.join('.')}\` names files of the daemon's host, and the request came from another one.`,
    { hint: `Omit \`${String(found.path.at(-1))}\`, or send the request on the daemon's host.` },
  );
}
