// What differs between the units that two versions were tested in.

import { ImagoError } from '../../../domain/error/imago-error.ts';
import { compareComposed } from '../../../domain/evidence/tested-combination.ts';
import { findVersion } from '../../input/find-version.ts';
import { argument, type CommandSpec, type Invocation } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Compare what two versions were tested together with',
  details:
    "Imago's version, recipe, lock, agent, node config and Kubernetes. For files on the disk see `image diff`.",
  args: [
    { name: 'BEFORE', what: 'a version', completes: 'image' },
    { name: 'AFTER', what: 'another', completes: 'image' },
  ],
  examples: [['imago image compare node:production node:staging', 'what would change with a promotion']],
  async run(invocation) {
    const before = await newestUnit(invocation, argument(invocation, 'BEFORE'));
    const after = await newestUnit(invocation, argument(invocation, 'AFTER'));
    const differences = compareComposed(before, after);
    invocation.out.thing({ before, after, differences }, after.id, () =>
      differences.length === 0
        ? ['They were tested in the same unit.']
        : differences.map((one) => `${one.part}: ${one.before ?? 'none'} → ${one.after ?? 'none'}`),
    );
  },
};

async function newestUnit(invocation: Invocation, reference: string) {
  const client = await invocation.client();
  const path = await findVersion(client, reference);
  const [newest] = (await client.call('listComposed', { path })).items;
  if (newest !== undefined) return newest;
  throw new ImagoError('version-untested', `${path.image}:${path.version} was not tested yet.`);
}
