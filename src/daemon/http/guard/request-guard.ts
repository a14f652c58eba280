// Lets a request in: right host, known caller, not too often, role big enough. In this order, and before
// anything of the request is read.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Tokens } from '../../../ports/database/access.ts';
import { addressKey } from './address-key.ts';
import { type Caller, identifyCaller, type Transport, unauthenticated } from './caller.ts';
import { checkHost } from './check-host.ts';
import type { Limits } from './limits.ts';
import { createRecentNames } from './recent-names.ts';
import { createRateLimiter, type RateLimiter } from './token-bucket.ts';

export interface RequestGuard {
  /** For pages that need no token. */
  checkPublic(transport: Transport, headers: Headers): void;
  /** Throws `api-host-refused`, `api-unauthenticated` or `api-rate-limited`. */
  authenticate(transport: Transport, headers: Headers): Promise<Caller>;
}

export interface RequestGuardOptions {
  readonly tokens: Tokens;
  readonly limits: Limits;
  /** Names that this daemon may be called by on a loopback address, beside `localhost`. */
  readonly hosts: ReadonlySet<string>;
}

const MAX_GOOD = 10_000;

export function createRequestGuard({ tokens, limits, hosts }: RequestGuardOptions): RequestGuard {
  const now = () => performance.now();
  const byToken = createRateLimiter({ burst: limits.tokenBurst, perSecond: limits.tokenPerSecond }, now);
  const perAddress = { burst: limits.addressBurst, perSecond: limits.addressPerSecond };
  const badTokens = createRateLimiter(perAddress, now);
  const pages = createRateLimiter(perAddress, now);
  const goodBefore = createRecentNames(MAX_GOOD);
  return {
    checkPublic(transport, headers) {
      checkHost(transport, headers.get('host') ?? undefined, hosts);
      if (transport.kind === 'tcp') requireAllowed(pages, 'take', addressKey(transport.remoteAddress));
    },
    async authenticate(transport, headers) {
      checkHost(transport, headers.get('host') ?? undefined, hosts);
      const authorization = headers.get('authorization') ?? undefined;
      const address = transport.kind === 'tcp' ? addressKey(transport.remoteAddress) : undefined;
      // Whoever guesses tokens is stopped before the database is asked. Those whose token was good before are
      // not: behind a proxy all callers have one address.
      const known = authorization !== undefined && goodBefore.has(authorization);
      if (address !== undefined && !known) requireAllowed(badTokens, 'peek', address);
      const caller = await identifyCaller(transport, authorization, tokens);
      if (caller === undefined) {
        if (address !== undefined) requireAllowed(badTokens, 'take', address);
        throw unauthenticated(authorization);
      }
      if (authorization !== undefined) goodBefore.add(authorization);
      if (caller.token !== undefined) requireAllowed(byToken, 'take', caller.token);
      return caller;
    },
  };
}

function requireAllowed(limiter: RateLimiter, how: 'take' | 'peek', name: string): void {
  const answer = limiter[how](name);
  if (answer.allowed) return;
  throw new ImagoError('api-rate-limited', 'Too many requests in a short time.', {
    retryable: true,
    hint: `Try again in ${Math.max(1, Math.ceil(answer.waitMs / 1000))} s.`,
    details: { retryAfterMs: answer.waitMs },
  });
}
