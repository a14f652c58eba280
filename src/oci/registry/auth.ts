// Signing in to a registry as the Distribution specification has it: basic, or a bearer token that another
// service hands out for a scope. Passwords go only where they belong, and never over an open wire that the
// caller did not ask for.
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { discard, type HttpClient, readBody } from './http.ts';

export type Credentials =
  | { readonly username: string; readonly password: string }
  /** A token that is sent as it is. */
  | { readonly token: string };

export interface Challenge {
  readonly scheme: 'basic' | 'bearer';
  readonly parameters: Readonly<Record<string, string>>;
}

interface Token {
  readonly value: string;
  readonly expiresAt: number;
}

const tokenAnswer = z.looseObject({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().optional(),
});

const shortestLifeSeconds = 60;
const renewBeforeMs = 10_000;

/** The first challenge of a header that Imago can answer. */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  for (const match of (header ?? '').matchAll(/(?:^|,\s*)(basic|bearer)(?:\s+|$)/gi)) {
    const rest = (header ?? '').slice((match.index ?? 0) + match[0].length);
    const parameters: Record<string, string> = {};
    for (const [, key = '', quoted, plain] of rest.matchAll(/([a-z_]+)=(?:"([^"]*)"|([^\s,"]+))/gi)) {
      parameters[key.toLowerCase()] ??= quoted ?? plain ?? '';
    }
    return { scheme: match[1]?.toLowerCase() === 'basic' ? 'basic' : 'bearer', parameters };
  }
  return undefined;
}

export class RegistryAuth {
  readonly #http: HttpClient;
  readonly #credentials: Credentials | undefined;
  readonly #plainHttp: boolean;
  readonly #now: () => number;
  readonly #tokens = new Map<string, Token>();
  readonly #fetching = new Map<string, Promise<Token>>();
  #basic = false;

  constructor(
    http: HttpClient,
    credentials: Credentials | undefined,
    plainHttp: boolean,
    now: () => number = Date.now,
  ) {
    this.#http = http;
    this.#credentials = credentials;
    this.#plainHttp = plainHttp;
    this.#now = now;
  }

  /** What to send along; `undefined` until the registry has asked for something. */
  header(scope: string): string | undefined {
    if (this.#credentials !== undefined && 'token' in this.#credentials)
      return `Bearer ${this.#credentials.token}`;
    if (this.#basic) return this.#basicHeader();
    const token = this.#tokens.get(scope);
    return token === undefined || token.expiresAt - renewBeforeMs < this.#now()
      ? undefined
      : `Bearer ${token.value}`;
  }

  /**
   * Answers a challenge to a request that was sent with the header `sent`; false when there is nothing more to
   * answer it with. Requests that are challenged at the same time share one answer.
   */
  async answer(
    challenge: Challenge | undefined,
    scope: string,
    sent: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const current = this.header(scope);
    if (current !== undefined && current !== sent) return true;
    if (challenge === undefined || (this.#credentials !== undefined && 'token' in this.#credentials))
      return false;
    if (challenge.scheme === 'basic') {
      if (this.#credentials === undefined || sent !== undefined) return false;
      this.#basic = true;
      return true;
    }
    const fetching = this.#fetching.get(scope) ?? this.#fetchToken(challenge, scope, signal);
    this.#fetching.set(scope, fetching);
    try {
      this.#tokens.set(scope, await fetching);
    } finally {
      this.#fetching.delete(scope);
    }
    return true;
  }

  async #fetchToken(challenge: Challenge, scope: string, signal: AbortSignal | undefined): Promise<Token> {
    const url = this.#realm(challenge);
    if (challenge.parameters.service !== undefined)
      url.searchParams.set('service', challenge.parameters.service);
    for (const one of new Set([...scope.split(' '), ...(challenge.parameters.scope ?? '').split(' ')])) {
      if (one !== '') url.searchParams.append('scope', one);
    }
    const basic = this.#basicHeader();
    const response = await this.#http.send({
      method: 'GET',
      url,
      headers: basic === undefined ? {} : { authorization: basic },
      signal,
    });
    if (response.status === 401 || response.status === 403) {
      await discard(response);
      throw new ImagoError('registry-denied', `${url.host} gives this user no token for ${scope}`);
    }
    if (response.status !== 200) {
      await discard(response);
      throw new ImagoError(
        'registry-failed',
        `${url.host} answered ${response.status} when asked for a token`,
        {
          retryable: response.status >= 500 || response.status === 429,
        },
      );
    }
    const answer = tokenAnswer.safeParse(parseJson(await readBody(response, 1024 * 1024)));
    const value = answer.success ? (answer.data.token ?? answer.data.access_token) : undefined;
    if (value === undefined) throw new ImagoError('registry-failed', `${url.host} answered without a token`);
    const seconds = Math.max(answer.data?.expires_in ?? shortestLifeSeconds, shortestLifeSeconds);
    return { value, expiresAt: this.#now() + seconds * 1000 };
  }

  #realm(challenge: Challenge): URL {
    const realm = challenge.parameters.realm ?? '';
    if (!URL.canParse(realm))
      throw new ImagoError('registry-failed', 'the registry names no place to get a token');
    const url = new URL(realm);
    if (url.protocol === 'https:' || (url.protocol === 'http:' && this.#plainHttp)) return url;
    throw new ImagoError('registry-denied', `the registry asks to sign in at ${url.host} without encryption`);
  }

  #basicHeader(): string | undefined {
    if (this.#credentials === undefined || !('username' in this.#credentials)) return undefined;
    const { username, password } = this.#credentials;
    return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
