// The tests that start machines by themselves, and not by the commands of the product. They run in one suite, as an
// ordinary user: those of the product's commands make such a user where they need one.

export const machineTests: readonly string[] = [
  'test/e2e/agent-machine.test.ts',
  'test/e2e/build-boots.test.ts',
  'test/e2e/disk-boots.test.ts',
  'test/e2e/kubelet-machine.test.ts',
  'test/e2e/local-provider.test.ts',
  'test/e2e/machine-host.test.ts',
  'test/e2e/plain-image.test.ts',
];
