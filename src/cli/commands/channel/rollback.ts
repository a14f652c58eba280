// Move a channel back.

import { requireExpect } from '../../input/destructive-target.ts';
import { splitChannel } from '../../input/split-channel.ts';
import { untoldLines } from '../../output/unsynced-galleries.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import {
  argument,
  type CommandSpec,
  destructiveFlags,
  isSet,
  requiredText,
  text,
} from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Move a channel back to its previous version',
  details:
    'The rollback checks no gates and needs no approvals: it only returns to a version that the channel pointed at before. The version that the channel leaves is resolved once, shown, and confirmed; --yes needs --expect. A repeated rollback away from the same version changes nothing. The galleries of the channel get the previous version first, so the command can wait for one of them. `imago image withdraw` waits for no gallery.',
  args: [{ name: 'CHANNEL', what: 'the channel: NAME:CHANNEL', completes: 'image' }],
  flags: {
    why: { what: 'the reason, stored permanently', value: 'TEXT', required: true },
    ...destructiveFlags('the channel points at this version', 'VERSION'),
    ...operationFlags,
  },
  examples: [
    ['imago channel rollback node:production --why "kubelet crashes"', 'show the move, ask, and go back'],
    [
      'imago channel rollback node:production --expect 1.34.2 --yes --why "kubelet crashes"',
      'away from 1.34.2, in a script',
    ],
  ],
  async run(invocation) {
    const reference = argument(invocation, 'CHANNEL');
    const channel = splitChannel(reference);
    let from = text(invocation, 'expect');
    if (from === undefined) {
      const client = await invocation.client();
      from = (await client.call('resolve', { query: { reference } })).version;
      if (isSet(invocation, 'yes')) requireExpect(invocation, reference, from);
    }
    const body = { ...channel, from, why: requiredText(invocation, 'why') };
    await runOperation(invocation, {
      endpoint: 'rollbackChannel',
      input: { body },
      irreversible: true,
      name: (result) => `${result.image}:${result.channel}`,
      lines: (result) => [
        `${result.image}:${result.channel} points at ${result.version ?? 'nothing'} again (move ${result.move})`,
        ...untoldLines(result),
      ],
    });
  },
};
