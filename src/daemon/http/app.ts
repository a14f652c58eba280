// The HTTP application: every endpoint of the contract, and the OpenAPI document.
import { Hono } from 'hono';
import { contractOf, endpointNames } from '../../api/contract/contract.ts';
import type { Log } from '../process/log.ts';
import type { DaemonContext } from './endpoint/context.ts';
import type { Transport } from './guard/caller.ts';
import { defaultLimits, type Limits } from './guard/limits.ts';
import { createRequestGuard } from './guard/request-guard.ts';
import { createStreamSlots } from './guard/streams.ts';
import { createPipeline } from './pipeline.ts';
import { requestIdOf } from './request-context.ts';
import { jsonResponse } from './response/json-response.ts';
import { problemResponse, toPublicError } from './response/problem.ts';
import { documentPath, unknownPath } from './unknown-path.ts';

export interface AppOptions {
  readonly limits?: Partial<Limits>;
  /** Host names that this daemon accepts on a loopback address, in addition to `localhost`. */
  readonly hosts?: Iterable<string>;
  readonly log?: Log;
}

export interface App {
  /** Responds to one request; never throws. */
  fetch(request: Request, env: { readonly transport: Transport }): Promise<Response>;
}

export function createApp(context: DaemonContext, options: AppOptions = {}): App {
  const limits = { ...defaultLimits, ...options.limits };
  const guard = createRequestGuard({ tokens: context.tokens, limits, hosts: new Set(options.hosts) });
  const { log } = options;
  const pipeline = createPipeline({ context, guard, limits, slots: createStreamSlots(limits), log });
  const app = new Hono<{ Bindings: { readonly transport: Transport } }>();

  for (const name of endpointNames) {
    const { method, url } = contractOf(name);
    app.on(method, url.replace(/\{(\w+)\}/g, ':$1'), (c) =>
      pipeline({ name, request: c.req.raw, params: c.req.param(), transport: c.env.transport }),
    );
  }
  let document: Promise<object> | undefined;
  app.get(documentPath, async (c) => {
    guard.checkPublic(c.env.transport, c.req.raw.headers);
    document ??= import('../../api/openapi/openapi.ts').then(({ openApiDocument }) => openApiDocument());
    return jsonResponse(200, await document);
  });
  app.notFound((c) => {
    guard.checkPublic(c.env.transport, c.req.raw.headers);
    throw unknownPath(c.req.method, c.req.path);
  });
  app.onError((thrown, c) => {
    const error = toPublicError(thrown);
    const requestId = requestIdOf(c.req.raw);
    if (error.kind === 'bug') log?.error(c.req.path, { requestId, error: thrown });
    return problemResponse(error, requestId);
  });
  return { fetch: async (request, env) => app.fetch(request, env) };
}
