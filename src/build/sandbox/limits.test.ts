import { tmpdir } from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import type { ImagoError } from '../../domain/error/imago-error.ts';
import { defaultLimits, type Usage, watchLimits } from './limits.ts';

afterEach(() => {
  vi.useRealTimers();
});

function watched(measure: () => Promise<Usage>, limits = defaultLimits) {
  const stopped = Promise.withResolvers<ImagoError>();
  const watch = watchLimits('The package', limits, { folder: tmpdir(), measure }, stopped.resolve);
  return { ...watch, stopped: stopped.promise };
}

it('stops a run whose files cannot be measured', async () => {
  const measure = vi.fn(() => Promise.reject(new Error('du failed')));
  const { stopped, end } = watched(measure);
  expect(await stopped).toMatchObject({
    code: 'build-failed',
    message: 'The disk use of The package could not be measured, so it was stopped.',
    cause: { message: 'du failed' },
  });
  expect(measure).toHaveBeenCalledTimes(3);
  end();
});

it('continues if measuring fails once', async () => {
  const measure = vi
    .fn<() => Promise<Usage>>()
    .mockRejectedValueOnce(new Error('du failed'))
    .mockResolvedValueOnce({ bytes: 1, files: 1 })
    .mockRejectedValueOnce(new Error('du failed'))
    .mockResolvedValue({ bytes: 1, files: defaultLimits.files + 1 });
  const { stopped, end } = watched(measure);
  expect(await stopped).toMatchObject({
    message: 'The package wrote more than 2000000 files and was stopped.',
  });
  expect(measure).toHaveBeenCalledTimes(4);
  end();
});
