// Holds one request on its way through the pipeline, and writes its row in the audit log.
import { randomUUID } from 'node:crypto';
import { contractOf, isWrite } from '../../api/contract/contract.ts';
import type { EndpointContract } from '../../api/contract/endpoint.ts';
import type { EndpointName } from '../../api/contract/types.ts';
import type { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Audit } from '../../ports/database/access.ts';
import type { Log } from '../process/log.ts';
import { type Caller, osUserAt, type Transport } from './guard/caller.ts';

export interface EndpointRequest {
  readonly name: EndpointName;
  readonly request: Request;
  /** Parameters in the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly transport: Transport;
}

export interface RequestContext extends EndpointRequest {
  readonly endpoint: EndpointContract;
  readonly requestId: string;
  readonly dryRun: boolean;
  /** The path, until the handler determines the subject. */
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

/** Returns the id of a request, its audit row, log lines, and response: the caller's own, if it is well-formed. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Returns whether to audit the dry run: those of admin actions show what an attacker would try first. */
export function auditsDryRun({ endpoint, dryRun }: RequestContext): boolean {
  return dryRun && endpoint.role === 'admin';
}

/** Writes the row of a completed request. Throws if it cannot: a request that is not audited is not confirmed. */
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
 * Errors that are not audited: requests that come too fast, those of a standby daemon, which cannot write, and those that
 * the client sends again with more files of the recipe.
 */
const unaudited: ReadonlySet<string> = new Set([
  'api-rate-limited',
  'api-host-refused',
  'daemon-standby',
  'recipe-files-wanted',
]);

/**
 * Writes the row of a request that was refused or failed, except for dry runs that are not admin actions and for
 * requests that could fill the table. If the row cannot be written, logs that: the caller gets the first error.
 */
export async function auditFailed(
  audit: Audit,
  incoming: RequestContext,
  caller: Caller | undefined,
  error: ImagoError,
  log: Log | undefined,
): Promise<void> {
  const isAudited = isWrite(incoming.endpoint) || incoming.endpoint.audited === true;
  if (
    !isAudited ||
    (incoming.dryRun && !auditsDryRun(incoming)) ||
    incoming.audited ||
    unaudited.has(error.code)
  )
    return;
  try {
    await audit.add({
      who: caller?.who ?? 'unknown',
      ...(caller === undefined ? osUserAt(incoming.transport) : osUserOf(caller)),
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

function osUserOf({ osUser }: Caller): { readonly osUser?: string } {
  return osUser === undefined ? {} : { osUser };
}
