// Change what new nodes of a pool are made from.

import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Change what new nodes of a pool are made from',
  details: 'Existing nodes stay as they are; they move by a rollout.',
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  flags: {
    image: {
      what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
      value: 'IMAGE',
      required: true,
      completes: 'image',
    },
    pin: { what: 'do not follow the channel' },
    ...operationFlags,
  },
  examples: [['imago pool set-image web --image node:1.34.2', 'new nodes keep to one version']],
  async run(invocation) {
    await runOperation(invocation, {
      endpoint: 'setPoolImage',
      input: {
        path: { pool: argument(invocation, 'POOL') },
        body: { reference: requiredText(invocation, 'image'), pin: isSet(invocation, 'pin') },
      },
      name: (result) => String(result.name),
      lines: (result) => [`New nodes of pool ${result.name} come from ${result.image}:${result.version}`],
    });
  },
};
