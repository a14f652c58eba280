import { describe, expect, it } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { asStepError, retryPause } from './retry.ts';

const plain = new ImagoError('provider-failed', 'no');

describe('the pause before another try', () => {
  it('doubles up to a minute, spread by a tenth to either side', () => {
    const pauses = [1, 2, 3, 4, 10, 40].map((tried) => retryPause(plain, tried, 0.5));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 60_000, 60_000]);
    expect(retryPause(plain, 1, 0)).toBe(900);
    expect(retryPause(plain, 1, 1)).toBe(1_100);
  });

  it('is as long as the provider asks for, within reason', () => {
    const asking = (retryAfterMs: unknown) =>
      retryPause(new ImagoError('provider-throttled', 'slow down', { details: { retryAfterMs } }), 1, 0.5);
    expect(asking(30_000)).toBe(30_000);
    expect(asking(10)).toBe(1_000);
    expect(asking(10 ** 9)).toBe(900_000);
    expect(asking('soon')).toBe(1_000);
    expect(asking(-5)).toBe(1_000);
  });
});

describe('what a step threw', () => {
  it('is tried again when the connection broke, however deep that is buried', () => {
    const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    expect(asStepError(new Error('fetch failed', { cause: broken }))).toMatchObject({
      code: 'provider-no-reply',
      retryable: true,
    });
  });

  it('stays what it is when it is one of our own, and is a bug if it is unknown', () => {
    expect(asStepError(plain)).toBe(plain);
    expect(asStepError(new TypeError('x is not a function'))).toMatchObject({
      code: 'internal',
      retryable: false,
    });
    expect(asStepError('a string')).toMatchObject({ code: 'internal', message: 'a string' });
  });
});
