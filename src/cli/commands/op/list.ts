// Operations, newest first.
import { type CommandSpec, text } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

const states = ['queued', 'running', 'waiting', 'undoing', 'succeeded', 'failed', 'cancelled'] as const;

export const command: CommandSpec = {
  summary: 'List operations, newest first',
  details:
    'Ended operations are kept for a year and their logs for 30 days; IMAGO_KEEP_OPERATIONS and IMAGO_KEEP_LOGS in the environment of the daemon set other numbers of days. Versions, moves, nodes and the audit are kept for ever.',
  flags: {
    state: { what: 'only in this state', value: 'STATE', choices: states },
    kind: { what: 'only of this kind', value: 'KIND' },
    subject: { what: 'only about this, e.g. pool/web', value: 'SUBJECT' },
    ...pageFlags,
  },
  examples: [
    ['imago op list', 'what ran last'],
    ['imago op list --state failed', 'what failed'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const state = text(invocation, 'state') as (typeof states)[number] | undefined;
    const kind = text(invocation, 'kind');
    const subject = text(invocation, 'subject');
    const query = {
      ...pageQuery(invocation),
      ...(state && { state }),
      ...(kind && { kind }),
      ...(subject && { subject }),
    };
    invocation.out.list(await client.call('listOperations', { query }), (item) => item.id, {
      id: (item) => item.id,
      kind: (item) => item.kind,
      subject: (item) => item.subject,
      state: (item) => item.state,
      step: (item) => item.currentStep,
      by: (item) => item.by,
      created: (item) => item.createdAt,
    });
  },
};
