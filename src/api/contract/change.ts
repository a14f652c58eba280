// What happened.
import { change } from '../../domain/change/record.ts';
import { timestamp } from '../../domain/value/fields.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { endpoints, read } from './endpoint.ts';

export const changeContract = endpoints('Operations', {
  listChanges: read('GET /v1/changes', 'List what happened since a time, with who and why, newest first', {
    role: 'operator',
    query: pageQuery.extend({ since: timestamp.describe('Start of the list.') }),
    response: pageOf(change),
    description:
      'Channel moves, withdrawals, policies, new nodes, operations on pools and nodes, and operations that failed. Admins also see changed settings, galleries, webhooks, tokens, and schedules.',
  }),
});
