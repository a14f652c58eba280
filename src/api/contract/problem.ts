// Problems that Imago could not repair.
import * as z from 'zod';
import { problemRecord } from '../../domain/problem/problem.ts';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { endpoint } from './endpoint.ts';

const path = z.strictObject({ problem: z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER) });

export const problemContract = {
  listProblems: endpoint({
    tag: 'Daemon',
    summary: 'List what Imago could not repair, newest first',
    role: 'viewer',
    effect: 'read',
    query: pageQuery.extend({
      subject: name.optional().describe('Only problems of this subject.'),
      all: z.enum(['true', 'false']).default('false').describe('Include resolved problems.'),
    }),
    status: 200,
    response: pageOf(problemRecord),
  }),
  showProblem: endpoint({
    tag: 'Daemon',
    summary: 'Show one problem',
    role: 'viewer',
    effect: 'read',
    path,
    status: 200,
    response: problemRecord,
  }),
  resolveProblem: endpoint({
    tag: 'Daemon',
    summary: 'Mark a problem as resolved',
    description: 'If a later check finds it again, it opens as a new problem. A second call has no effect.',
    role: 'operator',
    effect: 'write',
    path,
    body: z
      .strictObject({ reason: z.string().trim().min(1).max(1000) })
      .meta({ id: 'ResolveProblemRequest' }),
    status: 200,
    response: problemRecord,
  }),
};
