// What a version's signatures say to a person.
import type { AnswerOf } from '../../api/contract/types.ts';

export type Signature = AnswerOf<'listSignatures'>['items'][number];

export function describeSignatures(signatures: readonly Signature[]): readonly string[] {
  if (signatures.length === 0) return ['not signed'];
  return signatures.map(({ key, owner, identity, signedAt, counts, expired, problem }) => {
    const by = key === undefined ? 'a key that is not known here' : `key ${key}`;
    const whose = owner === undefined ? '' : ` of ${owner}`;
    const when = signedAt === undefined ? '' : ` at ${signedAt}`;
    const line = `signed by ${by}${whose} for ${identity}${when}`;
    return counts
      ? `✓ ${line}${expired ? ', with a key that has expired since' : ''}`
      : `✗ ${line}: does not count, ${problem}`;
  });
}
