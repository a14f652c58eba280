import { describe, expect, test } from 'vitest';
import type { GatedSignature, GateFacts } from './facts.ts';
import { signedGate } from './signed.ts';

const own: GatedSignature = { key: 'a1', identity: 'node', counts: true };
const farm: GatedSignature = {
  key: 'b2',
  owner: 'farm',
  identity: 'registry.example/images/node',
  counts: true,
};

function judge(by: readonly string[] | undefined, signatures: readonly GatedSignature[]) {
  const facts = { version: { image: 'node' }, signatures } as unknown as GateFacts;
  return signedGate.check(by === undefined ? {} : { by: [...by] }, facts);
}

describe('the gate `signed`', () => {
  test.each([
    ['any trusted key', undefined, [own], true],
    ['no signature', undefined, [], false],
    ['the named key', ['a1'], [own], true],
    ['the named owner, under the name of a repository', ['farm'], [farm], true],
    ['only one of two', ['a1', 'farm'], [own], false],
    ['both of two', ['a1', 'farm'], [own, farm], true],
    ['another key than the named one', ['c3'], [own], false],
    ['a signature for another image', undefined, [{ ...own, identity: 'other' }], false],
    ['a name that only ends alike', undefined, [{ ...own, identity: 'my-node' }], false],
    ['a revoked key', undefined, [{ ...own, counts: false, problem: 'its key was revoked: leaked' }], false],
    ['an expired key', undefined, [{ ...own, expired: true }], false],
  ] as const)('with %s', (_, by, signatures, passed) => {
    expect(judge(by, signatures).passed).toBe(passed);
  });

  test('says who signed, and why that does not count', () => {
    expect(judge(['a1', 'farm'], [own, { ...farm, expired: true }])).toMatchObject({
      needs: 'signatures of a1 and farm',
      value: 'signed by a1, farm (b2): its key has expired',
    });
    expect(judge(undefined, [{ ...own, identity: 'other' }]).value).toBe(
      'signed by a1: it was made for other, not for node',
    );
  });
});
