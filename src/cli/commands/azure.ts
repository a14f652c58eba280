// Commands for Azure.
import { azureJobs, roleOf } from '../../domain/azure/roles.ts';
import { runEmulator } from '../../launcher/emulator.ts';
import { group } from '../run/builders.ts';
import { type CommandSpec, isSet, readNumber, text } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

const emulate: CommandSpec = {
  summary: 'Run an Azure emulator on this host until it is stopped',
  details:
    'It answers like Azure Resource Manager: sign-in, galleries, disks, snapshots, machines, scale sets, template deployments, and page blobs. With --json it prints one line when it is ready: url, ca (a file), token, subscription and pid. Without --state nothing is stored.',
  flags: {
    port: { description: 'Port on 127.0.0.1 (default: a free one)', value: 'PORT', read: readNumber },
    clock: { description: 'How many times faster than real time it runs', value: 'FACTOR', read: readNumber },
    'any-subscription': { description: 'Accept every subscription id' },
    state: { description: 'Keep everything in this directory between runs', value: 'DIRECTORY' },
    log: { description: 'Append every exchange to this file, one JSON document a line', value: 'FILE' },
  },
  examples: [
    ['imago azure emulate --json', 'Run it, and print where it is as JSON'],
    ['imago azure emulate --clock 1000', 'Replicate versions in less than a second'],
  ],
  async run(invocation) {
    const valued = ['port', 'clock', 'state', 'log'].flatMap((name) => {
      const value = text(invocation, name);
      return value === undefined ? [] : [`--${name}`, value];
    });
    const switches = ['any-subscription', 'json'].filter((name) => isSet(invocation, name));
    await runEmulator([...valued, ...switches.map((name) => `--${name}`)], invocation.signal);
  },
};

const roles: CommandSpec = {
  summary: 'Print the custom role in Azure that a job needs',
  details: `The jobs are ${azureJobs.join(', ')}. The role has the rights that requests of Imago need, and no others. It is JSON in every output format.`,
  args: [{ name: 'JOB', description: 'What the identity does', field: false }],
  flags: {
    scope: {
      description: 'Where it can be assigned (default: a placeholder)',
      value: '/subscriptions/ID/resourceGroups/NAME',
    },
  },
  examples: [
    [
      'imago azure roles publisher --scope /subscriptions/ID/resourceGroups/imago > role.json',
      'Write the role for `az role definition create --role-definition @role.json`',
    ],
  ],
  async run(invocation) {
    const job = azureJobs.find((one) => one === invocation.args.JOB);
    if (job === undefined)
      throw usage(
        `There is no job ${invocation.args.JOB}; the jobs are ${azureJobs.join(', ')}.`,
        'azure roles',
      );
    const role = roleOf(job, text(invocation, 'scope') ?? '/subscriptions/SUBSCRIPTION/resourceGroups/GROUP');
    invocation.out.thing(role, role.Name, () => [JSON.stringify(role, null, 2)]);
  },
};

export const command = group({ emulate, roles });
