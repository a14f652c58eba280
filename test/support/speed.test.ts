import { describe, expect, it } from 'vitest';
import { measureSpeed, patience, shareSpeed } from './speed.ts';

describe('the speed of the host', () => {
  it('is the median of three rounds, from 1 for a fast host to 10', () => {
    const measured = (...times: number[]) => measureSpeed(() => times.shift() ?? 0);
    expect(measured(10, 20, 15)).toBe(1);
    expect(measured(150, 5000, 140)).toBe(3);
    expect(measured(5000, 5000, 5000)).toBe(10);
  });

  it('is measured once and inherited by what is started', () => {
    const env: NodeJS.ProcessEnv = {};
    const factor = shareSpeed(env);
    expect(env.IMAGO_TEST_SPEED).toBe(String(factor));
    expect(shareSpeed({ IMAGO_TEST_SPEED: '2.5' })).toBe(2.5);
  });

  it('lengthens limits and never shortens them', () => {
    expect(patience(1000, { IMAGO_TEST_SPEED: '2.5' })).toBe(2500);
    for (const env of [{}, { IMAGO_TEST_SPEED: '0.1' }, { IMAGO_TEST_SPEED: 'fast' }])
      expect(patience(1000, env)).toBe(1000);
  });

  it('reaches the tests', () => {
    expect(process.env.IMAGO_TEST_SPEED).toMatch(/^\d+(\.\d)?$/);
  });
});
