// Lists what happened.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import { list } from '../run/builders.ts';
import { pageFlags } from '../spec/command.ts';

export const command = list('listChanges', {
  details:
    'Channel moves, withdrawals, policies, new nodes, operations on pools and nodes, and operations that failed. Admins also see changed settings, galleries, webhooks, tokens, and schedules.',
  flags: {
    since: { description: 'How far back, or a time (default: 1h)', value: 'TIME', read: readSince },
    ...pageFlags,
  },
  examples: [
    ['imago changes --since 1h', 'List what happened in the last hour'],
    [
      'imago changes --since 2027-02-28T10:00:00Z --watch',
      'List what happened since a time, and what happens next',
    ],
  ],
  more: ({ flags }) => (flags.since === undefined ? { since: readSince('1h', 'since') } : {}),
  columns: [
    'at',
    'kind',
    'subject',
    'what',
    ['who', 'by'],
    'why',
    ['operation', ({ operation }) => operation?.slice(0, 8)],
  ],
  name: ({ id }) => id,
});

function readSince(value: string, flag: string): string {
  const isDate = /^\d{4}-\d{2}-\d{2}/.test(value);
  const at = isDate ? Date.parse(value) : Date.now() - parseDuration(value);
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new ImagoError('usage-invalid', `--${flag} is not a time: ${JSON.stringify(value)}.`, {
    hint: 'Write it like 1h, 2027-02-28, or 2027-02-28T10:00:00Z.',
  });
}
