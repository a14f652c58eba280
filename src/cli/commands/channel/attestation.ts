// The signed statement of a channel's move.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { splitChannel } from '../../input/split-channel.ts';
import { argument, type CommandSpec, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the signed statement of a move: who moved what, and what every gate said',
  details:
    'A DSSE envelope with an in-toto statement. It can be checked with no server, with the public key of `imago keys show`. ' +
    'A move that was signed anew has one in force, which is printed; with --json the earlier ones too.',
  args: [{ name: 'CHANNEL', what: 'NAME:CHANNEL', completes: 'image' }],
  flags: { move: { what: 'the move (default: the one that set the channel)', value: 'NUMBER' } },
  examples: [['imago channel attestation node:production > move.json', 'keep it with the release']],
  async run(invocation) {
    const client = await invocation.client();
    const { image, channel } = splitChannel(argument(invocation, 'CHANNEL'));
    const asked = text(invocation, 'move');
    const { items } = await client.call('listChannels', { path: { image } });
    const move = asked ?? items.find((item) => item.name === channel)?.move?.toString();
    if (move === undefined) {
      throw new ImagoError('channel-empty', `${image}:${channel} does not point at a version.`);
    }
    const found = await client.call('showMoveAttestation', { path: { move } });
    invocation.out.thing(found, String(found.move), () => [found.envelope]);
    if (found.problem !== undefined) {
      invocation.out.note(
        `Its signature does not count: ${found.problem}. Sign it anew with \`imago channel sign ${image}:${channel} --move ${move}\`.`,
      );
    }
  },
};
