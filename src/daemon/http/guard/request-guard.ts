// Admits a request: host, caller, and rate, in this order, and before anything of the request is read.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { isLoopbackAddress, isLoopbackHost } from '../../../domain/access/loopback.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Tokens } from '../../../ports/database/access.ts';
import { type Caller, identifyCaller, type Transport, unauthenticated } from './caller.ts';
import type { Limits } from './limits.ts';
import { createRateLimiter, type RateLimiter } from './token-bucket.ts';

export interface RequestGuard {
  /** Admits a request for a document that needs no token. */
  checkPublic(transport: Transport, headers: Headers): void;
  /** Throws `api-host-refused`, `api-unauthenticated`, or `api-rate-limited`. */
  authenticate(transport: Transport, headers: Headers): Promise<Caller>;
}

export interface RequestGuardOptions {
  readonly tokens: Tokens;
  readonly limits: Limits;
  /** Host names that this daemon accepts on a loopback address, in addition to `localhost`. */
  readonly hosts: ReadonlySet<string>;
}

const maxValidTokens = 10_000;

export function createRequestGuard({ tokens, limits, hosts }: RequestGuardOptions): RequestGuard {
  const now = () => performance.now();
  const byToken = createRateLimiter({ burst: limits.tokenBurst, perSecond: limits.tokenPerSecond }, now);
  const perAddress = { burst: limits.addressBurst, perSecond: limits.addressPerSecond };
  const badTokens = createRateLimiter(perAddress, now);
  const documents = createRateLimiter(perAddress, now);
  const validBefore = createRecentNames(maxValidTokens);
  return {
    checkPublic(transport, headers) {
      checkHost(transport, headers.get('host') ?? undefined, hosts);
      if (transport.kind === 'tcp') requireAllowed(documents, 'take', addressKey(transport.remoteAddress));
    },
    async authenticate(transport, headers) {
      checkHost(transport, headers.get('host') ?? undefined, hosts);
      const authorization = headers.get('authorization') ?? undefined;
      const address = transport.kind === 'tcp' ? addressKey(transport.remoteAddress) : undefined;
      // Guesses are stopped before the database is queried. A token that was valid before is not: behind a proxy, all
      // callers have one address.
      const known = authorization !== undefined && validBefore.has(authorization);
      if (address !== undefined && !known) requireAllowed(badTokens, 'peek', address);
      const caller = await identifyCaller(transport, authorization, tokens);
      if (caller === undefined) {
        if (address !== undefined) requireAllowed(badTokens, 'take', address);
        throw unauthenticated(authorization);
      }
      if (authorization !== undefined) validBefore.add(authorization);
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

/**
 * Prevents DNS rebinding: a web page that resolves its own name to 127.0.0.1 does not reach the daemon, because a
 * request to a loopback address must also name a loopback host.
 */
export function checkHost(
  transport: Transport,
  host: string | undefined,
  allowed: ReadonlySet<string>,
): void {
  if (transport.kind === 'socket' || !isLoopbackAddress(transport.localAddress)) return;
  const name = hostName(host ?? '');
  if (isLoopbackHost(name) || allowed.has(name)) return;
  const message = `The daemon does not answer for the host ${JSON.stringify(name)}.`;
  throw new ImagoError('api-host-refused', message, { httpStatus: 421 });
}

/** Returns the host without its port, in lower case. */
function hostName(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim().toLowerCase());
  return match?.[1] ?? match?.[2] ?? host;
}

/** Returns the key that an address is limited by. The owner of one IPv6 address has its /64, so that is one key. */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const plain = address.split('%')[0] ?? '';
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    groups.push(...Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0'), ...after);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}

/** Remembers at most `max` names, the latest ones, by their hash: the names can be secrets. */
export function createRecentNames(max: number) {
  const hashes = new Set<string>();
  const hashOf = (name: string) => createHash('sha256').update(name).digest('base64');
  return {
    has: (name: string) => hashes.has(hashOf(name)),
    add(name: string) {
      const hash = hashOf(name);
      hashes.delete(hash);
      hashes.add(hash);
      const [oldest] = hashes;
      if (hashes.size > max && oldest !== undefined) hashes.delete(oldest);
    },
  };
}
