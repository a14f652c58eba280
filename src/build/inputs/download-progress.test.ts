import { expect, test } from 'vitest';
import { downloadProgress } from './download-progress.ts';

const mib = 1024 ** 2;

test('bytes of a download move the bar between two parts, and are reported', () => {
  const told: unknown[] = [];
  let now = 0;
  const { parts, bytes } = downloadProgress(
    (...words) => told.push(words),
    () => now,
  );
  parts(1, 4, 'resolving kubelet');
  bytes('The binary kubelet 1.34', 225 * mib, 900 * mib);
  now += 1000;
  bytes('The binary kubelet 1.34', 450 * mib, 900 * mib);
  now += 1000;
  bytes('The binary kubelet 1.34', 900 * mib, 900 * mib);
  parts(2, 4, 'resolving kubelet');
  expect(told).toEqual([
    [1000, 4000, 'resolving kubelet'],
    [1250, 4000, 'fetching the binary kubelet 1.34: 225 MiB of 900 MiB'],
    [1500, 4000, 'fetching the binary kubelet 1.34: 450 MiB of 900 MiB'],
    [1500, 4000, 'fetching the binary kubelet 1.34: 900 MiB of 900 MiB'],
    [2000, 4000, 'resolving kubelet'],
  ]);
});

test('a size that is not known is not made up, and not every chunk is reported', () => {
  const told: unknown[] = [];
  let now = 0;
  const { bytes } = downloadProgress(
    (...words) => told.push(words),
    () => now,
  );
  for (const piece of [1, 2, 3]) {
    bytes('A private binary', piece * mib, undefined);
    now += 100;
  }
  now += 400;
  bytes('A private binary', 4 * mib, undefined);
  expect(told).toEqual([
    [0, 1000, 'fetching a private binary: 1 MiB'],
    [0, 1000, 'fetching a private binary: 4 MiB'],
  ]);
});
