// The order of test files: those that are known to take long begin first, so that none of them runs alone at the end.
// Vitest knows this from the run before, which a fresh clone does not have.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In their order. A file that is not here comes after them. */
const long: readonly string[] = [
  'test/e2e/local-journey.test.ts',
  'test/e2e/plain-image.test.ts',
  'test/e2e/broken-image.test.ts',
  'test/e2e/agent-machine.test.ts',
  'test/e2e/kubelet-machine.test.ts',
  'test/e2e/machine-host.test.ts',
  'test/e2e/local-provider.test.ts',
  'test/e2e/disk-boots.test.ts',
  'test/integration/engine-kill.test.ts',
  'test/integration/build-bad-input.test.ts',
  'test/integration/daemon-start-stop.test.ts',
  'test/integration/cli-images.test.ts',
  'test/integration/daemon-survival.test.ts',
  'test/integration/catalogue-sequences.test.ts',
  'test/integration/build-changes.test.ts',
  'test/integration/cli-watch-across-kill.test.ts',
  'test/integration/operations-undo.test.ts',
  'test/integration/database-backup.test.ts',
  'test/integration/packed.test.ts',
  'test/conformance/engine/dbos-engine.test.ts',
  'src/domain/node-config/node-config-properties.test.ts',
];

/** Its place in the list, from 0; files that are not in it share the last one. */
export function placeOf(file: string): number {
  const place = long.findIndex((name) => file.endsWith(`/${name}`));
  return place === -1 ? long.length : place;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a.moduleId) - placeOf(b.moduleId));
  }
}
