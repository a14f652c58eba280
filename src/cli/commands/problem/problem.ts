// Reads and prints problems.
import type { ProblemRecord } from '../../../domain/problem/problem.ts';
import { facts } from '../../output/table.ts';
import { argument, type Invocation } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export function problemPath(invocation: Invocation): { readonly problem: number } {
  const id = argument(invocation, 'ID');
  if (/^[1-9]\d{0,14}$/.test(id)) return { problem: Number(id) };
  throw usage(`A problem has a number, not ${JSON.stringify(id)}.`, 'COMMAND');
}

export function problemFacts(problem: ProblemRecord): readonly string[] {
  return facts({
    ...{ id: problem.id, kind: problem.kind, subject: problem.subject, problem: problem.message },
    ...{ hint: problem.hint, seen: `${problem.count} times`, first: problem.firstAt, last: problem.lastAt },
    ...{ resolved: problem.resolvedAt, by: problem.resolvedBy, reason: problem.reason },
  });
}
