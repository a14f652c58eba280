// Lists the audit log.
import { list } from '../run/builders.ts';
import { pageFlags } from '../spec/command.ts';

export const command = list('listAudit', {
  flags: {
    subject: { description: 'List only requests about this subject, for example pool/web', value: 'SUBJECT' },
    ...pageFlags,
  },
  examples: [['imago audit --subject pool/web', 'List who changed a pool']],
  columns: [
    'at',
    ['user', 'who'],
    ['os user', 'osUser'],
    ['request', 'what'],
    'subject',
    'status',
    ['request id', 'requestId'],
  ],
});
