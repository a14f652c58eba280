// Decides which signatures on a version are valid for an image, and the gate that requires them.
import * as z from 'zod';
import { defineGate, type Finding, includesAll } from './define-gate.ts';
import type { GatedSignature, GateFacts } from './facts.ts';

const settings = z
  .strictObject({
    by: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('Key ids or owners of trusted keys that must all have signed. Defaults to any trusted key.'),
  })
  .describe('Signatures for this image by keys that are currently valid.');

export const signedGate = defineGate({
  settings,
  check,
  weaker: (before, after) => ({ by: !includesAll(after.by, before.by) || after.by?.length === 0 }),
});

/** Why the signature is not valid for the image; `undefined` if it is. */
export function identityProblem(
  { counts, identity, problem }: GatedSignature,
  image: string,
): string | undefined {
  if (!counts) return problem ?? 'it is not trusted';
  if (identity === image || identity.endsWith(`/${image}`)) return undefined;
  return `it was made for ${identity}, not for ${image}`;
}

/** Every named key or owner must have signed; without names, any trusted key. Keys that have ended are not enough. */
function check({ by }: z.output<typeof settings>, { version, signatures = [] }: GateFacts): Finding {
  const judged = signatures.map((signature) => ({
    ...signature,
    problem:
      identityProblem(signature, version.image) ?? (signature.expired ? 'its key has expired' : undefined),
  }));
  const valid = judged.filter(({ problem }) => problem === undefined);
  const isBy = (name: string) => valid.some(({ key, owner }) => key === name || owner === name);
  const found = judged.map(({ key = 'an unknown key', owner, problem }) => {
    const signer = owner === undefined ? key : `${owner} (${key})`;
    return problem === undefined ? signer : `${signer}: ${problem}`;
  });
  return {
    needs: by === undefined ? 'a signature of a trusted key' : `signatures of ${by.join(' and ')}`,
    passed: by === undefined ? valid.length > 0 : by.every(isBy),
    value: found.length === 0 ? 'it is not signed' : `signed by ${found.join(', ')}`,
  };
}
