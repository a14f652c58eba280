// One suite for every provider: what the roles in src/ports promise, whoever implements them.
import { afterAll, beforeAll, describe } from 'vitest';
import { abilityRules } from './ability-rules.ts';
import { builderRules } from './builder-rules.ts';
import { diskRules } from './disk-rules.ts';
import { galleriesRules } from './galleries-rules.ts';
import { galleryRegionRules } from './gallery-region-rules.ts';
import { galleryRules } from './gallery-rules.ts';
import { type LimitedProvider, limitRules } from './limit-rules.ts';
import { machineRules } from './machine-rules.ts';
import { nodeConfigRules } from './node-config-rules.ts';
import { nodeRules } from './node-rules.ts';
import { ownerRules } from './owner-rules.ts';
import { poolRules } from './pool-rules.ts';
import { type MakeProvider, type ProviderTraits, Suite } from './suite.ts';
import { versionRules } from './version-rules.ts';

export interface DescribeOptions extends ProviderTraits {
  /** The same provider with limits that a test can reach; absent where limits cannot be lowered. */
  readonly limited?: LimitedProvider;
}

/** Defines the tests. The provider is made once for all of them; each uses names of its own. */
export function describeProvider(name: string, make: MakeProvider, options: DescribeOptions): void {
  describe(name, () => {
    const suite = new Suite(options);
    beforeAll(() => suite.open(make));
    afterAll(() => suite.close());

    abilityRules(suite);
    ownerRules(suite);
    if (suite.has('gallery')) galleryRules(suite);
    if (suite.has('gallery')) versionRules(suite);
    if (suite.has('gallery', 'regions')) galleryRegionRules(suite);
    if (suite.has('gallery', 'galleries')) galleriesRules(suite);
    if (suite.has('pools')) poolRules(suite);
    if (suite.has('pools')) nodeRules(suite);
    if (suite.has('pools', 'nodeConfigs')) nodeConfigRules(suite);
    if (suite.has('machines')) machineRules(suite);
    if (suite.has('disks', 'snapshots', 'pools')) diskRules(suite);
    if (suite.has('builder')) builderRules(suite);
    if (options.limited !== undefined) limitRules(options.limited, options);
  });
}
