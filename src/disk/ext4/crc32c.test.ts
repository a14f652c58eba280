import { expect, it } from 'vitest';
import { crc32c, crc32cOfNumber } from './crc32c.ts';

it('gives the known value of the digits, once inverted as others write it', () => {
  expect((crc32c(0xffff_ffff, Buffer.from('123456789')) ^ 0xffff_ffff) >>> 0).toBe(0xe306_9283);
});

it('can be carried on from part to part', () => {
  const whole = crc32c(0xffff_ffff, Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(crc32cOfNumber(crc32c(0xffff_ffff, Buffer.from([1, 2, 3, 4])), 0x0807_0605)).toBe(whole);
});
