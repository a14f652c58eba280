import { describe, expect, test } from 'vitest';
import type { OperationRequest } from '../../ports/workflow/operation.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';

type Records = Readonly<Record<string, object>>;

/** A pool that follows a channel which move 7, of operation `w1`, took to another version. */
function world(records: Records, rolledBack?: object) {
  const submitted: OperationRequest[] = [];
  const pool = { name: 'web', provider: 'sim', image: 'node', follows: 'production', move: 6 };
  const deps = {
    fleet: {
      listBehind: async () => ({ items: [{ ...pool, reference: 'node:production' }] }),
      listPools: async () => ({ items: [] }),
      findBadVersion: async () => rolledBack,
    },
    catalogue: {
      getChannel: async () => ({ version: '1.0.0', move: 7 }),
      getVersion: async () => ({ image: 'node', version: '1.0.0', digest: 'sha256:1' }),
      getMove: async () => ({ id: 7, operation: 'w1' }),
    },
    journal: { get: async (id: string) => records[id] },
    desk: () => ({ submit: async (request: OperationRequest) => void submitted.push(request) }),
    ...{ clusterOf: async () => undefined, providers: () => [], now: () => 0, epoch: 0 },
  } as unknown as ReconcileDeps;
  return {
    async followed() {
      const { problems } = await reconcile(deps, new AbortController().signal);
      return [
        ...submitted.map(({ kind, subject }) => `${kind} ${subject}`),
        ...problems.map(({ message }) => message),
      ];
    },
  };
}

const live = (pools: string) => ({ kind: 'withdraw', id: 'w1', steps: [{ name: 'pools', state: pools }] });
const follow = ['pool-set-image pool/web'];

describe('a pool whose channel a withdrawal moved', () => {
  test('is left to the withdrawal that has not started its pool operations yet', async () => {
    expect(await world({ w1: live('pending') }).followed()).toEqual([]);
  });

  test('is left to the running pool operation of the withdrawal', async () => {
    expect(await world({ w1: live('done'), 'w1.web': { state: 'running' } }).followed()).toEqual([]);
  });

  test('follows its channel if the pool operation of the withdrawal ended without effect', async () => {
    const failed = { state: 'failed', endedAt: '2026-11-18' };
    expect(await world({ w1: live('done'), 'w1.web': failed }).followed()).toEqual(follow);
  });

  test('follows its channel if the withdrawal ended', async () => {
    expect(await world({ w1: { ...live('pending'), endedAt: '2026-11-18' } }).followed()).toEqual(follow);
  });
});

test('a pool follows a promotion without waiting for its end', async () => {
  expect(await world({ w1: { kind: 'promote', id: 'w1', steps: [] } }).followed()).toEqual(follow);
});

test('a pool does not follow its channel to a version that was rolled back in it, and says why', async () => {
  const rolledBack = { at: '2026-11-18', reason: 'node web-1: kubelet.service failed' };
  const promoted = { w1: { kind: 'promote', id: 'w1', steps: [] } };
  expect(await world(promoted, rolledBack).followed()).toEqual([
    'Pool web could not follow its channel: node:1.0.0 was rolled back in pool web at 2026-11-18: node web-1: kubelet.service failed.',
  ]);
});
