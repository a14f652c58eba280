// Move a channel to a version.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { GateName } from '../../../domain/gate/facts.ts';
import { untoldLines } from '../../output/unsynced-galleries.ts';
import { type OperationCall, operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, requiredText, text, texts } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Move a channel to a version',
  details:
    'Channels that are not for testing take only versions whose tests passed on this very digest. Galleries that stand for the channel get the version first, and offer it as their own latest once the channel points at it.',
  args: [
    {
      name: 'IMAGE',
      what: 'the version: NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
      completes: 'image',
    },
  ],
  flags: {
    to: { what: 'the channel', value: 'CHANNEL', required: true, completes: 'channel' },
    why: { what: 'the reason; kept for ever', value: 'TEXT', required: true },
    expect: { what: 'refuse unless the channel points at this version now', value: 'VERSION' },
    back: { what: 'the move may go to an older version' },
    override: {
      what: 'a gate to pass although it is closed, for admins; again for more',
      value: 'GATE',
      repeated: true,
    },
    reason: { what: 'with --override: why; stays visible for ever', value: 'TEXT' },
    ...operationFlags,
  },
  examples: [
    ['imago channel promote node:1.34.2 --to staging --why "weekly"', 'into staging'],
    [
      'imago channel promote node:staging --to production --why "a week in staging"',
      'what is in staging, into production',
    ],
  ],
  async run(invocation) {
    const expect = text(invocation, 'expect');
    const gates = texts(invocation, 'override') as readonly GateName[];
    const reason = text(invocation, 'reason');
    if ((reason === undefined) !== (gates.length === 0)) {
      throw usage('--override and --reason go together.', 'channel promote');
    }
    const body = {
      reference: argument(invocation, 'IMAGE'),
      channel: channelOf(argument(invocation, 'IMAGE'), requiredText(invocation, 'to')),
      why: requiredText(invocation, 'why'),
      ...(expect === undefined ? {} : { expect }),
      ...(isSet(invocation, 'back') ? { back: true } : {}),
    };
    if (reason === undefined) {
      await runOperation(invocation, { endpoint: 'promote', input: { body }, ...shown });
      return;
    }
    const override = { gates: [...gates], reason };
    await runOperation(invocation, {
      endpoint: 'overridePromote',
      input: { body: { ...body, override } },
      ...shown,
    });
  },
};

/** `NAME:CHANNEL` is the same as `CHANNEL`, of the image that the version is of. */
function channelOf(reference: string, to: string): string {
  const [image, channel] = to.split(':', 2);
  if (channel === undefined || reference.split(/[:@]/, 1)[0] === image) return channel ?? to;
  throw new ImagoError('input-invalid', `${reference} is no version of ${image}.`, {
    hint: 'A channel moves among the versions of its own image: write --to CHANNEL.',
  });
}

const shown: Pick<OperationCall<'promote'>, 'name' | 'lines'> = {
  name: (result) => `${result.image}:${result.channel}`,
  lines: (result) => [
    `${result.image}:${result.channel} points at ${result.version} (move ${result.move}${result.signed ? ', signed' : ''})`,
    ...untoldLines(result),
  ],
};
