// The benches, in the order of the page.

export interface Bench {
  readonly name: string;
  readonly what: string;
  readonly file: string;
}

export const benches: readonly Bench[] = [
  { name: 'cli-status', what: 'the command line', file: 'cli-status.ts' },
  { name: 'daemon-start', what: 'the daemon', file: 'daemon-start.ts' },
  { name: 'engine-steps', what: 'durable operations', file: 'engine-steps.ts' },
  { name: 'sim-pool', what: 'ten thousand simulated nodes', file: 'sim-pool.ts' },
  { name: 'rollout', what: 'rollouts', file: 'rollout.ts' },
  { name: 'image-build', what: 'building images', file: 'image-build.ts' },
  { name: 'store-disk', what: 'the store of disks', file: 'store-disk.ts' },
  { name: 'windows-disk', what: 'disks of Windows', file: 'windows-disk.ts' },
  { name: 'boot', what: 'boots of real machines', file: 'boot.ts' },
  { name: 'catalogue-scale', what: 'a catalogue of 50,000 versions', file: 'catalogue-scale.ts' },
];
