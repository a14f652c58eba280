// Move a channel to a version.
import { argument, type CommandSpec, requiredText, text } from '../command.ts';
import { operationFlags, runOperation } from '../run-operation.ts';

export const command: CommandSpec = {
  summary: 'Move a channel to a version',
  details: 'Channels that are not for testing take only versions whose tests passed on this very digest.',
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
    await runOperation(invocation, {
      endpoint: 'promote',
      input: {
        body: {
          reference: argument(invocation, 'IMAGE'),
          channel: requiredText(invocation, 'to'),
          why: requiredText(invocation, 'why'),
          ...(expect === undefined ? {} : { expect }),
        },
      },
      name: (result) => `${result.image}:${result.channel}`,
      lines: (result) => [
        `${result.image}:${result.channel} points at ${result.version} (move ${result.move})`,
      ],
    });
  },
};
