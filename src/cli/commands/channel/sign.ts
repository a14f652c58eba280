// Sign moves of a channel that were made when there was no key, or that a key signed which was revoked since.
import type { Client } from '../../../api/client/client.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { splitChannel } from '../../input/split-channel.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Sign a move from before there was a key, or whose key was revoked',
  details:
    'What is signed is what was recorded at the time of the move: who, why, and what every gate said. A statement whose ' +
    'signature counts stays as it is. One that a revoked key signed is kept, and a new one stands in its place.',
  args: [{ name: 'CHANNEL', what: 'NAME:CHANNEL', completes: 'image' }],
  flags: {
    move: { what: 'the move (default: the one that set the channel)', value: 'NUMBER' },
    ...writeFlags,
  },
  examples: [
    ['imago channel sign node:production', 'after `imago keys create`'],
    [
      'imago channel history node:production -o name | xargs -n1 imago channel sign node:production --move',
      'every move that it ever made',
    ],
  ],
  async run(invocation) {
    const { image, channel } = splitChannel(argument(invocation, 'CHANNEL'));
    const move = text(invocation, 'move') ?? (await currentMove(await invocation.client(), image, channel));
    await runWrite(invocation, {
      endpoint: 'signMove',
      input: { path: { move } },
      name: (signed) => String(signed.move),
      lines: (signed) => [`Move ${signed.move} is signed, since ${signed.at}`],
    });
  },
};

async function currentMove(client: Client, image: string, channel: string): Promise<string> {
  const { items } = await client.call('listChannels', { path: { image } });
  const move = items.find(({ name }) => name === channel)?.move;
  if (move !== undefined) return String(move);
  throw new ImagoError('channel-empty', `${image}:${channel} does not point at a version.`);
}
