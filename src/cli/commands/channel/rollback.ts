// Move a channel back.

import { splitChannel } from '../../input/split-channel.ts';
import { untoldLines } from '../../output/unsynced-galleries.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Move a channel back to the version before',
  details:
    'It asks no gates, nor for approvals: it is the way back in an emergency, to a version that the channel pointed at before. The move is kept like any other. Galleries that stand for the channel have the version before it moves, so it may wait for one of them, and do not offer what it left as their latest any more. The way out that waits for nothing is `imago image withdraw`.',
  args: [{ name: 'CHANNEL', what: 'the channel: NAME:CHANNEL', completes: 'image' }],
  flags: { why: { what: 'the reason; kept for ever', value: 'TEXT', required: true }, ...operationFlags },
  examples: [['imago channel rollback node:production --why "kubelet crashes"', 'take production back']],
  async run(invocation) {
    const body = { ...splitChannel(argument(invocation, 'CHANNEL')), why: requiredText(invocation, 'why') };
    await runOperation(invocation, {
      endpoint: 'rollbackChannel',
      input: { body },
      irreversible: false,
      name: (result) => `${result.image}:${result.channel}`,
      lines: (result) => [
        `${result.image}:${result.channel} points at ${result.version} again (move ${result.move})`,
        ...untoldLines(result),
      ],
    });
  },
};
