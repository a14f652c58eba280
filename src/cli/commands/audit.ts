// Who changed what.
import { type CommandSpec, text } from '../spec/command.ts';
import { pageFlags, pageQuery } from '../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List every write, done or refused, newest first',
  flags: { subject: { what: 'only about this, e.g. pool/web', value: 'SUBJECT' }, ...pageFlags },
  examples: [['imago audit --subject pool/web', 'who changed this pool']],
  async run(invocation) {
    const client = await invocation.client();
    const subject = text(invocation, 'subject');
    const query = { ...pageQuery(invocation), ...(subject === undefined ? {} : { subject }) };
    invocation.out.list(await client.call('listAudit', { query }), (item) => String(item.id), {
      at: (item) => item.at,
      who: (item) => item.who,
      'os user': (item) => item.osUser,
      what: (item) => item.what,
      subject: (item) => item.subject,
      status: (item) => String(item.status),
      request: (item) => item.requestId,
    });
  },
};
