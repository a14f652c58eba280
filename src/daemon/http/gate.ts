// Lets a request in: right host, known caller, not too often, role big enough. In this order, and before
// anything of the request is read.
import { ImagoError } from '../../domain/errors.ts';
import type { Tokens } from '../../ports/access.ts';
import { type Caller, type Door, identifyCaller, unauthenticated } from './caller.ts';
import { checkHost } from './check-host.ts';
import type { Limits } from './limits.ts';
import { createRateLimiter, type RateLimiter } from './token-bucket.ts';

export interface Gate {
  /** For pages that need no token. */
  passAnyone(door: Door, headers: Headers): void;
  /** Throws `api-host-refused`, `api-unauthenticated` or `api-rate-limited`. */
  passCaller(door: Door, headers: Headers): Promise<Caller>;
}

export interface GateOptions {
  readonly tokens: Tokens;
  readonly limits: Limits;
  /** Names that this daemon may be called by on a loopback address, beside `localhost`. */
  readonly hosts: ReadonlySet<string>;
}

export function createGate({ tokens, limits, hosts }: GateOptions): Gate {
  const now = () => performance.now();
  const byToken = createRateLimiter({ burst: limits.tokenBurst, perSecond: limits.tokenPerSecond }, now);
  const byAddress = createRateLimiter(
    { burst: limits.addressBurst, perSecond: limits.addressPerSecond },
    now,
  );
  return {
    passAnyone(door, headers) {
      checkHost(door, headers.get('host') ?? undefined, hosts);
      if (door.kind === 'tcp') requireAllowed(byAddress, 'take', addressKey(door.remoteAddress));
    },
    async passCaller(door, headers) {
      checkHost(door, headers.get('host') ?? undefined, hosts);
      const authorization = headers.get('authorization') ?? undefined;
      const address = door.kind === 'tcp' ? addressKey(door.remoteAddress) : undefined;
      // Whoever guesses tokens is stopped before the database is asked.
      if (address !== undefined) requireAllowed(byAddress, 'peek', address);
      const caller = await identifyCaller(door, authorization, tokens);
      if (caller === undefined) {
        if (address !== undefined) requireAllowed(byAddress, 'take', address);
        throw unauthenticated(authorization);
      }
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

/** One household of IPv6 addresses counts as one caller: a /64 is given to a single customer. */
function addressKey(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  return address.split(':').slice(0, 4).join(':');
}
