// List problems.
import { type CommandSpec, isSet, text } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List what Imago could not repair, newest first',
  flags: {
    all: { what: 'include resolved problems' },
    subject: { what: 'only problems of this subject, e.g. pool/web', value: 'SUBJECT' },
    ...pageFlags,
  },
  examples: [['imago problem list', 'what a person must look at']],
  async run(invocation) {
    const client = await invocation.client();
    const subject = text(invocation, 'subject');
    const all = isSet(invocation, 'all') ? 'true' : 'false';
    const query = { ...pageQuery(invocation), all, ...(subject !== undefined && { subject }) } as const;
    invocation.out.list(await client.call('listProblems', { query }), (item) => String(item.id), {
      id: (item) => String(item.id),
      kind: (item) => item.kind,
      subject: (item) => item.subject,
      seen: (item) => String(item.count),
      last: (item) => item.lastAt,
      state: (item) => (item.resolvedAt === undefined ? 'open' : `resolved by ${item.resolvedBy}`),
      problem: (item) => item.message,
    });
  },
};
