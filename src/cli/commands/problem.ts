// Commands for problems that Imago could not repair.
import type { ProblemRecord } from '../../domain/problem/problem.ts';
import { keyValueLines } from '../output/table.ts';
import { group, list, show, write } from '../run/builders.ts';
import { pageFlags } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

const args = [{ name: 'ID', description: 'Id of the problem, from `imago problem list`', expand: readId }];

export const command = group({
  list: list('listProblems', {
    summary: 'List what Imago could not repair, newest first',
    flags: {
      all: { description: 'Include resolved problems' },
      subject: { description: 'List only problems of this subject, for example pool/web', value: 'SUBJECT' },
      ...pageFlags,
    },
    examples: [['imago problem list', 'List the problems that need attention']],
    columns: [
      'id',
      'kind',
      'subject',
      ['seen', 'count'],
      ['last', 'lastAt'],
      ['state', (item) => (item.resolvedAt === undefined ? 'open' : `resolved by ${item.resolvedBy}`)],
      ['problem', 'message'],
    ],
  }),
  show: show('showProblem', {
    summary: 'Show one problem',
    args,
    examples: [['imago problem show 7', 'Show how often it was seen, and what to do']],
    lines: problemLines,
  }),
  resolve: write('resolveProblem', {
    summary: 'Mark a problem as resolved',
    details:
      'Imago resolves a problem when a later check finds it repaired. If it finds it again, it opens a new one.',
    args,
    flags: { reason: { description: 'How it was resolved', value: 'TEXT', required: true } },
    examples: [['imago problem resolve 7 --reason "deleted the machine by hand"', 'Close problem 7']],
    done: problemLines,
  }),
});

function readId(id: string) {
  if (/^[1-9]\d{0,14}$/.test(id)) return { problem: Number(id) };
  throw usage(`ID must be a number, not ${JSON.stringify(id)}.`, 'problem');
}

function problemLines(problem: ProblemRecord): readonly string[] {
  return keyValueLines({
    ...{ id: problem.id, kind: problem.kind, subject: problem.subject, problem: problem.message },
    ...{ hint: problem.hint, seen: `${problem.count} times`, first: problem.firstAt, last: problem.lastAt },
    ...{ resolved: problem.resolvedAt, by: problem.resolvedBy, reason: problem.reason },
  });
}
