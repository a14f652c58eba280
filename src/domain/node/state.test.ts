import { describe, expect, it } from 'vitest';
import { nodeState } from './state.ts';

const well = { state: 'ready', power: 'running', health: 'healthy' } as const;

describe('nodeState', () => {
  it('is ready only for a node that runs and whose agent reported since it booted', () => {
    expect(nodeState(well)).toBe('ready');
    expect(nodeState({ ...well, health: 'unknown' })).toBe('starting');
  });

  it.each(['starting', 'stopping', 'stopped'] as const)('is %s for a node with that power', (power) => {
    expect(nodeState({ ...well, power, health: 'unknown' })).toBe(power);
  });

  it('is unknown for a node whose agent is silent, and unhealthy if its agent reports a failure', () => {
    expect(nodeState({ ...well, health: 'unknown', trouble: 'silent' })).toBe('unknown');
    expect(nodeState({ ...well, health: 'unhealthy', trouble: 'failed' })).toBe('unhealthy');
  });

  it('follows power alone if the provider carries no reports', () => {
    expect(nodeState({ state: 'ready', power: 'running' })).toBe('ready');
    expect(nodeState({ state: 'ready', power: 'stopped' })).toBe('stopped');
  });

  it.each(['creating', 'updating', 'failed', 'deleting'])('keeps the provisioning state %s', (state) => {
    expect(nodeState({ state, power: 'running', health: 'healthy' })).toBe(state);
    expect(nodeState({ state, power: 'stopped', health: 'unknown' })).toBe(state);
  });
});
