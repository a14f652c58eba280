// One request on its way through the pipeline, and the trail that it leaves in the audit.

import { contractOf, isWrite } from '../../api/contract/contract.ts';
import type { EndpointContract } from '../../api/contract/endpoint.ts';
import type { EndpointName } from '../../api/contract/types.ts';
import type { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Audit } from '../../ports/database/access.ts';
import type { Log } from '../process/log.ts';
import type { Caller, Transport } from './guard/caller.ts';
import { requestIdOf } from './request-id.ts';

export interface EndpointRequest {
  readonly name: EndpointName;
  readonly request: Request;
  /** From the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly transport: Transport;
}

export interface RequestContext extends EndpointRequest {
  readonly endpoint: EndpointContract;
  readonly requestId: string;
  readonly dryRun: boolean;
  /** The path until the handler knows better. */
  subject: string;
  before?: Json;
  audited: boolean;
}

export function createRequestContext(asked: EndpointRequest): RequestContext {
  const url = new URL(asked.request.url);
  return {
    ...asked,
    endpoint: contractOf(asked.name),
    requestId: requestIdOf(asked.request),
    dryRun: url.searchParams.get('dryRun') === 'true',
    subject: url.pathname,
    audited: false,
  };
}

/** Dry runs of admin actions are audited: they show what an attacker would try first. */
export function auditsDryRun({ endpoint, dryRun }: RequestContext): boolean {
  return dryRun && endpoint.role === 'admin';
}

/** Writes the row of a request that was done. Throws when it cannot: what is not audited is not confirmed. */
export async function auditDone(
  audit: Audit,
  incoming: RequestContext,
  caller: Caller,
  status: number,
  after?: Json,
): Promise<void> {
  await audit.add({
    who: caller.who,
    ...osUserOf(caller),
    what: incoming.name,
    subject: incoming.subject,
    ...(incoming.before === undefined ? {} : { before: incoming.before }),
    ...(after === undefined ? {} : { after }),
    requestId: incoming.requestId,
    status,
  });
  incoming.audited = true;
}

/**
 * Too fast to be counted, or nowhere to write: a standby daemon has no audit of its own. A client that is asked for more
 * files of a recipe sends the request again with them.
 */
const uncounted: ReadonlySet<string> = new Set([
  'api-rate-limited',
  'api-host-refused',
  'daemon-standby',
  'recipe-files-wanted',
]);

/**
 * Writes the row of a request that was refused or failed. Dry runs leave none, except those of admin actions; nor do
 * requests that came too fast to be let in, which could fill the table. A row that cannot be written is logged: the caller gets the first error.
 */
export async function auditFailed(
  audit: Audit,
  incoming: RequestContext,
  caller: Caller | undefined,
  error: ImagoError,
  log: Log | undefined,
): Promise<void> {
  const counts = isWrite(incoming.endpoint) || incoming.endpoint.audited === true;
  if (
    !counts ||
    (incoming.dryRun && !auditsDryRun(incoming)) ||
    incoming.audited ||
    uncounted.has(error.code)
  )
    return;
  try {
    await audit.add({
      who: caller?.who ?? 'unknown',
      ...osUserOf(caller),
      what: incoming.name,
      subject: incoming.subject,
      ...(incoming.before === undefined ? {} : { before: incoming.before }),
      after: { error: error.code, ...(incoming.dryRun && { dryRun: true }) },
      requestId: incoming.requestId,
      status: error.httpStatus,
    });
  } catch (thrown) {
    log?.error('a failed request could not be audited', { requestId: incoming.requestId, error: thrown });
  }
}

function osUserOf(caller: Caller | undefined): { readonly osUser?: string } {
  return caller?.osUser === undefined ? {} : { osUser: caller.osUser };
}
