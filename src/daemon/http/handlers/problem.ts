// Problems that Imago could not repair.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { ProblemRecord } from '../../../domain/problem/problem.ts';
import type { Problems } from '../../../ports/database/problems.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';

export const problemHandlers = {
  listProblems: ({ context, query }) =>
    context.problems.list({ ...pageQuery(query), subject: query.subject, all: query.all === 'true' }),
  showProblem: ({ context, path }) => requireProblem(context.problems, path.problem),
  async resolveProblem({ context, path, body, caller }) {
    const problem = await requireProblem(context.problems, path.problem);
    return {
      subject: problem.subject,
      before: { problem: problem.id, message: problem.message },
      plan: async () => [
        problem.resolvedAt === undefined
          ? `Resolve problem ${problem.id}: ${problem.message}`
          : `Nothing: problem ${problem.id} is already resolved.`,
      ],
      run: async () => (await context.problems.resolve(problem.id, caller.who, body.reason)) ?? problem,
    };
  },
} satisfies Partial<Handlers>;

async function requireProblem(problems: Problems, id: number): Promise<ProblemRecord> {
  const found = await problems.get(id);
  if (found !== undefined) return found;
  throw new ImagoError('problem-not-found', `There is no problem ${id}.`);
}
