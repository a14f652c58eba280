// The HTTP application: every endpoint of the contract, the OpenAPI document and its page.
import { Hono } from 'hono';
import { contractOf, endpointNames } from '../../api/contract/contract.ts';
import type { Log } from '../process/log.ts';
import type { DaemonContext } from './endpoint/context.ts';
import type { Transport } from './guard/caller.ts';
import { defaultLimits, type Limits } from './guard/limits.ts';
import { createRequestGuard } from './guard/request-guard.ts';
import { createStreamSlots } from './guard/streams.ts';
import { createPipeline } from './pipeline.ts';
import { publicPages } from './public-pages.ts';
import { requestIdOf } from './request-id.ts';
import { problemResponse, toPublicError } from './response/problem.ts';
import { unknownPath } from './unknown-path.ts';

export interface AppOptions {
  readonly limits?: Partial<Limits>;
  /** Names that this daemon may be called by on a loopback address, beside `localhost`. */
  readonly hosts?: Iterable<string>;
  readonly log?: Log;
}

export interface App {
  /** Answers one request; never throws. The transport says whether the caller is on this machine. */
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
  for (const [path, page] of publicPages()) {
    app.get(path, (c) => {
      guard.checkPublic(c.env.transport, c.req.raw.headers);
      return page();
    });
  }
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
