// Runs every handler: authenticates, reads, and validates the request, claims the idempotency key, runs the handler,
// writes the audit row, stores the response, and responds.
import { isWrite } from '../../api/contract/contract.ts';
import type { EndpointName } from '../../api/contract/types.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Log } from '../process/log.ts';
import type { Call } from './endpoint/call.ts';
import type { DaemonContext } from './endpoint/context.ts';
import { type Caller, identifyCaller, requireRole, roleProblem, unauthenticated } from './guard/caller.ts';
import { openGuarded } from './guard/guard-stream.ts';
import type { Limits } from './guard/limits.ts';
import type { RequestGuard } from './guard/request-guard.ts';
import type { StreamSlots } from './guard/streams.ts';
import { generalHandler } from './handlers/handlers.ts';
import { operationIdOf, readKey } from './idempotency.ts';
import { type ReadParts, readParts } from './request/read-call.ts';
import {
  auditDone,
  auditFailed,
  createRequestContext,
  type EndpointRequest,
  type RequestContext,
} from './request-context.ts';
import { jsonResponse, StreamedJson, streamedJsonResponse } from './response/json-response.ts';
import { problemResponse, toPublicError } from './response/problem.ts';
import { performWrite } from './write.ts';

export interface PipelineOptions {
  readonly context: DaemonContext;
  readonly guard: RequestGuard;
  readonly limits: Limits;
  readonly slots: StreamSlots;
  readonly log: Log | undefined;
}

export type Pipeline = (asked: EndpointRequest) => Promise<Response>;

export function createPipeline(options: PipelineOptions): Pipeline {
  return async (asked) => {
    const incoming = createRequestContext(asked);
    let caller: Caller | undefined;
    try {
      caller = await options.guard.authenticate(incoming.transport, incoming.request.headers);
      requireRole(caller, incoming.endpoint.role, incoming.name);
      const response = await answer(options, incoming, caller);
      response.headers.set('x-request-id', incoming.requestId);
      return response;
    } catch (thrown) {
      const error = standingBy(toPublicError(thrown));
      if (error.kind === 'bug')
        options.log?.error(incoming.name, { requestId: incoming.requestId, error: thrown });
      await auditFailed(options.context.audit, incoming, caller, error, options.log);
      return problemResponse(error, incoming.requestId);
    }
  };
}

async function answer(options: PipelineOptions, incoming: RequestContext, caller: Caller): Promise<Response> {
  const { name, endpoint, request } = incoming;
  refuseHeadOfStream(incoming);
  const parts = await readParts(endpoint, request, incoming.params, options.limits);
  const key = isWrite(endpoint) && endpoint.stream === undefined ? readKey(request) : undefined;
  const call = makeCall(options, incoming, caller, parts, key);
  const handler = generalHandler(name);
  switch (handler.kind) {
    case 'stream':
      if (endpoint.audited) await auditDone(options.context.audit, incoming, caller, endpoint.status);
      return openStream(options, incoming, caller, (signal) => handler.handle({ ...call, signal }));
    case 'read': {
      const read = await handler.handle(call);
      return read instanceof StreamedJson
        ? streamedJsonResponse(endpoint.status, read)
        : jsonResponse(endpoint.status, read);
    }
    case 'write':
      return performWrite({
        incoming,
        call,
        prepare: handler.handle,
        key,
        bodyText: parts.bodyText,
        log: options.log,
      });
  }
}

function makeCall(
  { context, limits, slots }: PipelineOptions,
  { request, requestId }: RequestContext,
  caller: Caller,
  { path, query, body, upload }: ReadParts,
  key: string | undefined,
): Call<EndpointName> {
  return {
    context,
    limits,
    slots,
    caller,
    requestId,
    headers: request.headers,
    signal: request.signal,
    upload,
    whenBusy: query.whenBusy === 'refuse' ? 'refuse' : 'wait',
    ...(key === undefined ? {} : { operationId: operationIdOf(caller.who, key) }),
    // The schemas of the contract produced them; only the types of single endpoints are lost here.
    ...({ path, query, body } as Pick<Call<EndpointName>, 'path' | 'query' | 'body'>),
  };
}

/** A caller without a token is the daemon's user, whose rights do not end. */
function openStream(
  { context, limits }: PipelineOptions,
  { transport, endpoint, name, request }: RequestContext,
  caller: Caller,
  open: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  if (caller.token === undefined) return open(request.signal);
  const authorization = request.headers.get('authorization') ?? undefined;
  const check = async () => {
    const now = await identifyCaller(transport, authorization, context.tokens);
    return now === undefined ? unauthenticated(authorization) : roleProblem(now, endpoint.role, name);
  };
  return openGuarded({ signal: request.signal, check, everyMs: limits.rightsMs }, open);
}

/** A write that was refused because another daemon is active can be retried. */
function standingBy(error: ImagoError): ImagoError {
  if (error.code !== 'owner-stale') return error;
  return new ImagoError(
    'daemon-standby',
    'This daemon is on standby: another daemon is active on its database.',
    {
      httpStatus: 503,
      retryable: true,
      cause: error,
    },
  );
}

/** Refuses HEAD for a stream, which would never be read or closed. */
function refuseHeadOfStream({ name, endpoint, request }: RequestContext): void {
  if (request.method !== 'HEAD' || endpoint.stream === undefined) return;
  throw new ImagoError('api-method-unknown', `${name} does not take HEAD.`, {
    httpStatus: 405,
    details: { allow: 'GET' },
  });
}
