// Trust the key of another installation.

import { readPublicKeys } from '../../input/read-public-keys.ts';
import { readText } from '../../input/read-text.ts';
import { keyColumns } from '../../output/key-columns.ts';
import { writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, isSet, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Let what another installation signs count here',
  details:
    'For `image verify` and `image pull`. FILE is a public key in PEM, of `imago keys show` or of cosign; or the ' +
    'output of `imago keys list --json` there, which also tells since when and until when each key signs, and which ' +
    'were revoked. Give the newer list again when they changed keys.',
  args: [{ name: 'FILE', what: 'the public key, or the list', completes: 'file' }],
  flags: { owner: { what: 'whose key it is', value: 'NAME', required: true }, ...writeFlags },
  examples: [
    ['imago keys trust farm.pub --owner farm', 'then: imago image pull HOST/REPOSITORY:TAG'],
    ['imago keys trust farm-keys.json --owner farm', 'all of its keys, with their times'],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const owner = requiredText(invocation, 'owner');
    const keys = readPublicKeys(await readText(file), file);
    const client = await invocation.client();
    const planned: string[] = [];
    for (const key of keys)
      planned.push(...(await client.plan('trustKey', { body: { owner, ...key } })).plan);
    if (isSet(invocation, 'dry-run')) {
      invocation.out.thing({ dryRun: true, plan: planned }, owner, () => [
        'Would do, and nothing was written:',
        ...planned.map((line) => `  ${line}`),
      ]);
      return;
    }
    const items = [];
    for (const key of keys) items.push(await client.call('trustKey', { body: { owner, ...key } }));
    invocation.out.list({ items }, (key) => key.id, keyColumns);
  },
};
