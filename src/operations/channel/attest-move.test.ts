// Moves are signed once; an invalid statement is kept, and gets a successor.
import { expect, test } from 'vitest';
import type { MoveAttestation } from '../../ports/database/promotion.ts';
import type { OperationDeps } from '../common/deps.ts';
import { attestMove, findStatement } from './attest-move.ts';

interface World {
  /** That signs now; none when absent. */
  key?: string;
  readonly revoked: Set<string>;
  readonly kept: MoveAttestation[];
  readonly deps: Pick<OperationDeps, 'attestor' | 'catalogue' | 'promotion'>;
  signed: number;
}

function world(): World {
  const made: World = { revoked: new Set(), kept: [], signed: 0, deps: {} as never };
  const deps = {
    attestor: {
      async attest() {
        if (made.key === undefined) return undefined;
        made.signed += 1;
        return made.key;
      },
      problem: async (envelope: string) => (made.revoked.has(envelope) ? 'its key was revoked' : undefined),
    },
    catalogue: {
      getMove: async (id: number) =>
        id === 1
          ? { id, image: 'node', channel: 'production', to: '1.0.0', toDigest: 'sha256:1', at: '' }
          : undefined,
      listEvidence: async () => [],
      getVersion: async () => ({ simulated: true }),
    },
    promotion: {
      listAttestations: async () => made.kept.toReversed(),
      async addAttestation(attestation: Omit<MoveAttestation, 'id' | 'at'>, after?: number) {
        const newest = made.kept.at(-1);
        if (newest !== undefined && newest.id !== after) return newest;
        const added = { ...attestation, id: made.kept.length + 1, at: '' };
        made.kept.push(added);
        return added;
      },
    },
  };
  return Object.assign(made, { deps });
}

test('without a key nothing is signed; with one once, however often it is asked', async () => {
  const made = world();
  expect(await attestMove(made.deps, 1)).toBe(false);
  made.key = 'old';
  expect(await attestMove(made.deps, 1)).toBe(true);
  expect(await attestMove(made.deps, 1)).toBe(true);
  made.key = 'young';
  expect(await attestMove(made.deps, 1)).toBe(true);
  expect(made.kept.map(({ envelope }) => envelope)).toEqual(['old']);
  expect(made.signed).toBe(1);
});

test('if a key is revoked, the active key signs the move again, once, and the previous statement is kept', async () => {
  const made = world();
  made.key = 'old';
  await attestMove(made.deps, 1);
  made.revoked.add('old');
  delete made.key;
  expect(await attestMove(made.deps, 1)).toBe(false);
  expect(await findStatement(made.deps, 1)).toMatchObject({ problem: 'its key was revoked', earlier: [] });
  made.key = 'young';
  await Promise.all([attestMove(made.deps, 1), attestMove(made.deps, 1)]);
  expect(await attestMove(made.deps, 1)).toBe(true);
  const found = await findStatement(made.deps, 1);
  expect(found).toMatchObject({ attestation: { envelope: 'young' }, earlier: [{ envelope: 'old' }] });
  expect(found?.problem).toBeUndefined();
});

test('a move that there is not, and one that emptied its channel, have nothing to sign', async () => {
  const made = world();
  made.key = 'old';
  expect(await attestMove(made.deps, 2)).toBe(false);
  expect(made.kept).toEqual([]);
});
