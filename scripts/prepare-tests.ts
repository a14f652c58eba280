// Does the slow work that tests need, so that it does not count toward their time limits. A second run is instant.
// Usage: node scripts/prepare-tests.ts [azure-cli] [build-cache] [debian-root] [kubernetes]
import { fetchTools } from '../src/host/tools/fetch-tools.ts';
import { buildFixture } from '../test/support/build-fixture.ts';
import { debianRoot } from '../test/support/debian-root.ts';
import { testedKubernetes } from '../test/support/kubernetes.ts';
import { type PreparationName, preparationNames } from './preparations.ts';
import { sweepCache } from './sweep-cache.ts';

const work: Readonly<Record<PreparationName, () => Promise<unknown>>> = {
  'azure-cli': () => fetchTools({ group: 'azure' }),
  'build-cache': async () => (await buildFixture()).end(),
  'debian-root': debianRoot,
  kubernetes: () => testedKubernetes((line) => console.log(line)),
};

const words = process.argv.slice(2);
const wanted = preparationNames.filter((name) => words.length === 0 || words.includes(name));
if (words.length > 0 && wanted.length !== words.length) {
  console.error(`prepare-tests: choose from ${preparationNames.join(', ')}`);
  process.exit(2);
}
await sweepCache();
for (const name of wanted) {
  console.log(`preparing ${name}`);
  await work[name]();
}
