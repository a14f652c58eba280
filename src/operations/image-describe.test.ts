import { expect, test } from 'vitest';
import { timed } from './image-describe.ts';

const subject = {
  ...{ image: 'node', version: '1', digest: 'sha256:0', reused: false },
  createdAt: '2026-01-01T00:01:00.000Z',
};
const startedAt = '2026-01-01T00:00:00.000Z';
const timings = [{ step: 'base', ms: 25_000 }];
const whole = { step: 'whole build', ms: 60_000 };

test('notes get the time of each measured step and of the whole', () => {
  expect(timed({ ...subject, startedAt, timings })).toEqual({ timings: [...timings, whole] });
});

test('a builder that measures no steps leaves the whole, and a version that was not built nothing', () => {
  expect(timed({ ...subject, startedAt })).toEqual({ timings: [whole] });
  expect(timed(subject)).toEqual({});
});
