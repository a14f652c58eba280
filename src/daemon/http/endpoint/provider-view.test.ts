import { expect, it } from 'vitest';
import type { NodeRecord } from '../../../ports/database/fleet.ts';
import type { ProviderNode } from '../../../ports/provider/pools.ts';
import { nodeView } from './provider-view.ts';

const record: NodeRecord = {
  ...{ name: 'web-0', pool: 'web', machineId: 'm', schedulable: true, at: '2026-01-01T00:00:00.000Z' },
  ...{ image: 'node', version: '1.0.0', digest: 'sha256:0', reference: 'node:1.0.0' },
};

const seen: ProviderNode = {
  ...{ name: 'web-0', pool: 'web', machineId: 'm', power: 'running', state: 'ready' },
  ...{ image: 'node', version: '1.0.0', latestModelApplied: true, health: 'healthy' },
  protection: { fromScaleIn: false, fromPoolActions: false },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', imagedAt: '2026-01-01T00:00:00.000Z' },
};

it('a node that stands still tells why, and one that failed tells why', () => {
  expect(nodeView(record, seen)).toEqual({ ...record, power: 'running', state: 'ready', health: 'healthy' });
  const trouble = 'The disk of the host is full.';
  expect(nodeView(record, { ...seen, health: 'unhealthy', trouble })).toMatchObject({
    ...{ power: 'running', state: 'unhealthy', health: 'unhealthy', trouble },
  });
  const error = { code: 'MachineCrashed', message: 'Its process ended.' };
  expect(nodeView(record, { ...seen, state: 'failed', error })).toMatchObject({ state: 'failed', error });
});

it('a node that is stopped or that just boots is not ready', () => {
  expect(nodeView(record, { ...seen, power: 'stopped', health: 'unknown' })).toMatchObject({
    ...{ power: 'stopped', state: 'stopped' },
  });
  expect(nodeView(record, { ...seen, power: 'starting', health: 'unknown' })).toMatchObject({
    ...{ power: 'stopped', state: 'starting' },
  });
  expect(nodeView(record, { ...seen, health: 'unknown' })).toMatchObject({
    ...{ power: 'running', state: 'starting' },
  });
});

it('what the provider does not say is not made up', () => {
  const { health: _health, ...silent } = seen;
  expect(nodeView(record, silent)).not.toHaveProperty('health');
  expect(nodeView(record, 'unknown')).toEqual({ ...record, power: 'unknown', state: 'unknown' });
});
