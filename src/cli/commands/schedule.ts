// Commands for schedules.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { keyValueLines } from '../output/table.ts';
import { group, list, write } from '../run/builders.ts';

export const command = group({
  list: list('listSchedules', {
    summary: 'List scheduled operations',
    examples: [['imago schedule list', 'List when each operation runs']],
    columns: [
      'name',
      'cron',
      ['zone', 'timeZone'],
      'kind',
      'subject',
      ['next', 'nextAt'],
      ['last', 'lastFiredAt'],
      ['stopped', 'stoppedWhy'],
    ],
  }),
  create: write('createSchedule', {
    summary: 'Schedule an operation',
    args: [{ name: 'NAME', description: 'Name of the schedule' }],
    flags: {
      cron: { description: 'Cron expression, 5 or 6 fields', value: 'CRON', required: true },
      'time-zone': { description: 'IANA time zone (default: UTC)', value: 'ZONE' },
      kind: { description: 'Kind of operation', value: 'KIND', required: true },
      subject: { description: 'Subject of the operation', value: 'SUBJECT', required: true },
      input: {
        description: 'Input of the operation, as JSON',
        value: 'JSON',
        required: true,
        read: readJson,
      },
    },
    examples: [
      [
        `imago schedule create nightly --cron '0 3 * * *' --time-zone Europe/Paris --kind test --subject image/node --input '{"reference":"node:production"}'`,
        'Test production every night',
      ],
    ],
    done: ({ name, nextAt }) => keyValueLines({ name, next: nextAt }),
  }),
  delete: write('deleteSchedule', {
    summary: 'Delete a schedule',
    args: [{ name: 'SCHEDULE', description: 'Name of the schedule' }],
    irreversible: true,
    examples: [['imago schedule delete nightly', 'Stop the nightly test']],
    done: ({ name }) => `Schedule ${name} is deleted`,
  }),
});

function readJson(value: string, flag: string): unknown {
  try {
    return JSON.parse(value);
  } catch (cause) {
    throw new ImagoError('usage-invalid', `--${flag} is not valid JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
}
