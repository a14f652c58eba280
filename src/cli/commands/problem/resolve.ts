// Mark a problem as resolved.
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { type CommandSpec, requiredText } from '../../spec/command.ts';
import { problemFacts, problemPath } from './problem.ts';

export const command: CommandSpec = {
  summary: 'Mark a problem as resolved',
  details:
    'Imago resolves a problem when a later check finds it repaired. If it finds it again, it opens a new one.',
  args: [{ name: 'ID', what: 'the problem, from `imago problem list`' }],
  flags: { reason: { what: 'how it was resolved', value: 'TEXT', required: true }, ...writeFlags },
  examples: [['imago problem resolve 7 --reason "deleted the machine by hand"', 'close it']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'resolveProblem',
      input: { path: problemPath(invocation), body: { reason: requiredText(invocation, 'reason') } },
      name: ({ id }) => String(id),
      lines: problemFacts,
    });
  },
};
