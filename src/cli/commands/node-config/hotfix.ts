// Send a component to nodes before an image has it.

import { operationFlags } from '../../run/run-operation.ts';
import { setNodeConfig } from '../../run/set-node-config.ts';
import { argument, type CommandSpec, requiredText, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Put a component on the nodes of a pool, or on one node, before an image has it',
  details:
    'Nodes install it by the same code that bakes images, and check its sha256. An earlier hotfix of the same component is replaced, and what a node has of its own stays. A version that has the component makes it unnecessary, and its release notes say so.',
  args: [{ name: 'TARGET', what: 'a pool or a node', completes: 'pool' }],
  flags: {
    component: { what: 'its name', value: 'NAME', required: true },
    version: { what: 'the version that it brings', value: 'VERSION', required: true },
    source: { what: 'where nodes fetch it', value: 'URL', required: true },
    sha256: { what: 'what it must be', value: 'HEX', required: true },
    kind: { what: 'what the source holds', value: 'KIND', choices: ['binary', 'tar', 'package'] },
    to: { what: 'where it goes, unless the image has a place for it', value: 'PATH' },
    cost: {
      what: 'what it costs a node (default: restart)',
      value: 'COST',
      choices: ['live', 'restart', 'drain'],
    },
    restart: { what: 'a unit that is restarted after it; again for more', value: 'UNIT', repeated: true },
    ...operationFlags,
  },
  examples: [
    [
      'imago node config hotfix web --component runc --version 1.3.4 --source https://files.example.com/runc --sha256 0123… --restart containerd.service',
      'a fixed runc on every node of web',
    ],
  ],
  async run(invocation) {
    const optional = ['kind', 'to', 'cost'].flatMap((flag) => {
      const value = text(invocation, flag);
      return value === undefined ? [] : [[flag, value] as const];
    });
    const { restart } = invocation.flags;
    const hotfix = {
      component: requiredText(invocation, 'component'),
      version: requiredText(invocation, 'version'),
      source: requiredText(invocation, 'source'),
      sha256: requiredText(invocation, 'sha256'),
      ...Object.fromEntries(optional),
      ...(Array.isArray(restart) ? { restarts: [...restart] } : {}),
    };
    await setNodeConfig(invocation, argument(invocation, 'TARGET'), { hotfix });
  },
};
