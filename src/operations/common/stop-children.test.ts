import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Run } from './operation.ts';
import { stopChildren } from './stop-children.ts';

/** Children by id: whether they have ended, and whether they do so before the cancel comes. */
async function stopped(children: Readonly<Record<string, 'ended' | 'ends' | 'live'>>, prefix?: string) {
  const calls: string[] = [];
  const run = {
    ...{ operation: { id: 'op', by: 'ann' }, signal: new AbortController().signal },
    journal: {
      childStates: async () =>
        Object.entries(children).map(([id, state]) => ({ id, ...(state === 'ended' && { endedAt: 'now' }) })),
    },
    desk: () => ({
      async cancel(id: string) {
        if (children[id] === 'ends') throw new ImagoError('operation-ended', 'It has ended.');
        calls.push(`cancel ${id}`);
      },
      ended: async (id: string) => void calls.push(`ended ${id}`),
    }),
  } as unknown as Run;
  await stopChildren(run, prefix);
  return calls;
}

test('all are cancelled before one is waited for, and one that has ended by then is not a failure', async () => {
  expect(await stopped({ 'op.a': 'ended', 'op.b': 'ends', 'op.c': 'live', 'op.d': 'live' })).toEqual([
    ...['cancel op.c', 'cancel op.d'],
    ...['ended op.b', 'ended op.c', 'ended op.d'],
  ]);
});

test('others are left alone', async () => {
  expect(await stopped({ 'op.to.a.1': 'live', 'op.back.a.1': 'live' }, 'op.to.')).toEqual([
    ...['cancel op.to.a.1', 'ended op.to.a.1'],
  ]);
});
