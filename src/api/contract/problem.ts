// Problems that Imago could not repair.
import * as z from 'zod';
import { problemRecord } from '../../domain/problem/problem.ts';
import { name } from '../../domain/value/fields.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { endpoints, read, write } from './endpoint.ts';

const problemId = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER);

export const problemContract = endpoints('Daemon', {
  listProblems: read('GET /v1/problems', 'List what Imago could not repair, newest first', {
    query: pageQuery.extend({
      subject: name.optional().describe('Only problems of this subject.'),
      all: z.enum(['true', 'false']).default('false').describe('Include resolved problems.'),
    }),
    response: pageOf(problemRecord),
  }),
  showProblem: read('GET /v1/problems/{problem}', 'Show one problem', {
    params: { problem: problemId },
    response: problemRecord,
  }),
  resolveProblem: write('POST /v1/problems/{problem}/resolve', 'Mark a problem as resolved', {
    role: 'operator',
    params: { problem: problemId },
    body: z
      .strictObject({ reason: z.string().trim().min(1).max(1000) })
      .meta({ id: 'ResolveProblemRequest' }),
    response: problemRecord,
    description: 'If a later check finds it again, it opens as a new problem. A second call has no effect.',
  }),
});
