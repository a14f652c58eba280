// Start an operation by the clock.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';
import { facts } from '../../output/table.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Start an operation by the clock',
  args: [{ name: 'NAME', what: 'the name of the schedule' }],
  flags: {
    cron: { what: 'five or six fields', value: 'CRON', required: true },
    'time-zone': { what: 'an IANA time zone (default: UTC)', value: 'ZONE' },
    kind: { what: 'the kind of operation', value: 'KIND', required: true },
    subject: { what: 'what it is about', value: 'SUBJECT', required: true },
    input: { what: "the operation's input, as JSON", value: 'JSON', required: true },
    ...writeFlags,
  },
  examples: [
    [
      `imago schedule create nightly --cron '0 3 * * *' --time-zone Europe/Paris --kind test --subject image/node --input '{"reference":"node:production"}'`,
      'test production every night',
    ],
  ],
  async run(invocation) {
    const timeZone = text(invocation, 'time-zone');
    await runWrite(invocation, {
      endpoint: 'createSchedule',
      input: {
        body: {
          name: argument(invocation, 'NAME'),
          cron: requiredText(invocation, 'cron'),
          ...(timeZone === undefined ? {} : { timeZone }),
          kind: requiredText(invocation, 'kind'),
          subject: requiredText(invocation, 'subject'),
          input: readJson(requiredText(invocation, 'input')),
        },
      },
      name: ({ name }) => name,
      lines: ({ name, nextAt }) => facts({ name, next: nextAt }),
    });
  },
};

function readJson(value: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch (cause) {
    throw new ImagoError('usage-invalid', `--input is not JSON: ${(cause as Error).message}`, { cause });
  }
}
