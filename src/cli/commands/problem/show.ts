// Show one problem.
import type { CommandSpec } from '../../spec/command.ts';
import { problemFacts, problemPath } from './problem.ts';

export const command: CommandSpec = {
  summary: 'Show one problem',
  args: [{ name: 'ID', what: 'the problem, from `imago problem list`' }],
  examples: [['imago problem show 7', 'since when, how often, and what to do']],
  async run(invocation) {
    const client = await invocation.client();
    const problem = await client.call('showProblem', { path: problemPath(invocation) });
    invocation.out.thing(problem, String(problem.id), () => problemFacts(problem));
  },
};
