// Lineage, withdrawal, retention, limits, and support.
import { limit } from '../../domain/limits/record.ts';
import { hold } from '../../domain/retention/record.ts';
import { pageOf } from '../schemas/common.ts';
import {
  ancestry,
  descent,
  descentQuery,
  holdRequest,
  prunePlan,
  pruneQuery,
  setSupportRequest,
  supportDate,
  versionNode,
  versionNodesQuery,
  withdrawal,
  withdrawalsQuery,
} from '../schemas/lifecycle.ts';
import { endpoints, read, write } from './endpoint.ts';

export const lifecycleContract = endpoints('Images', {
  listAncestors: read(
    'GET /v1/images/{image}/versions/{version}/ancestors',
    'Show the lineage of a version back to its first ancestor',
    { response: ancestry },
  ),
  listDescendants: read(
    'GET /v1/images/{image}/versions/{version}/descendants',
    'List everything derived from a version, including pools and nodes',
    { query: descentQuery, response: descent },
  ),
  listVersionNodes: read(
    'GET /v1/images/{image}/versions/{version}/nodes',
    'List live nodes that run a version or one derived from it',
    { query: versionNodesQuery, response: pageOf(versionNode) },
  ),
  listWithdrawals: read('GET /v1/withdrawals', 'List withdrawals and the number of nodes still affected', {
    query: withdrawalsQuery,
    response: pageOf(withdrawal),
  }),
  holdVersion: write('POST /v1/images/{image}/versions/{version}/hold', 'Protect a version from deletion', {
    role: 'publisher',
    body: holdRequest,
    response: hold,
  }),
  releaseVersion: write(
    'DELETE /v1/images/{image}/versions/{version}/hold',
    'Remove the hold from a version',
    { role: 'publisher', response: hold },
  ),
  planPrune: read('GET /v1/prune', 'List what retains each version, and which versions can be deleted', {
    query: pruneQuery,
    response: prunePlan,
  }),
  showLimits: read('GET /v1/limits', 'Show each limit, its current usage, and when it will be reached', {
    response: pageOf(limit),
  }),
  listSupport: read('GET /v1/support', 'List end-of-support dates', { response: pageOf(supportDate) }),
  setSupport: write('POST /v1/support', 'Set an end-of-support date', {
    role: 'publisher',
    body: setSupportRequest,
    response: supportDate,
  }),
  unsetSupport: write('DELETE /v1/support/{product}/{line}', 'Remove an end-of-support date', {
    role: 'publisher',
    response: supportDate,
  }),
});
