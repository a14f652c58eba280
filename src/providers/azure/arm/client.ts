// The Resource Manager of Azure, as few words as the provider needs: resources, lists in pages, and operations that
// take long. A reply is kept as it came, so that what is read, changed and written back loses nothing.
import { retryAfterMs } from '../../../async/retry.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';
import { type Address, apiVersionOf, pathOf, permissionOf } from './address.ts';
import { armError, readProblem, single } from './arm-error.ts';
import { Pace } from './pace.ts';
import type { HttpReply, Transport } from './transport.ts';

export interface ArmOptions {
  /** `https://management.azure.com`. */
  readonly endpoint: string;
  readonly subscription: string;
  readonly group: string;
  readonly transport: Transport;
  readonly clock: Clock;
  token(signal: AbortSignal): Promise<string>;
  /** Called with the right that each request needs. */
  onCall?(permission: string): void;
}

/** Where an operation is polled. Kept, it can be polled after a restart. */
export interface ArmOperation {
  readonly poll: string;
  /** Where its result is when it has ended, if not in the poll itself. */
  readonly result?: string;
  readonly what: string;
}

export interface Started<T> {
  readonly body: T | undefined;
  /** Absent if the work has ended already. */
  readonly operation?: ArmOperation;
}

interface Extra {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly ifMatch?: string | undefined;
}

interface Reply {
  readonly reply: HttpReply;
  readonly body: unknown;
}

type OperationState =
  | { readonly state: 'running'; readonly waitMs: number }
  | { readonly state: 'done'; readonly output?: unknown };

const tries = 5;
const firstWaitMs = 500;
const pollMs = 5_000;
const longestPollMs = 60_000;

export class ArmClient {
  readonly #options: ArmOptions;
  readonly #pace: Pace;

  constructor(options: ArmOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
  }

  idOf(address: Address): string {
    return `/subscriptions/${this.#options.subscription}${pathOf(address, this.#options.group)}`;
  }

  /** Returns `undefined` if it does not exist, or nothing that it would be in. */
  async get<T>(address: Address, signal: AbortSignal, query?: Extra['query']): Promise<T | undefined> {
    try {
      return (await this.#call('GET', address, signal, query === undefined ? {} : { query })).body as T;
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined;
      throw thrown;
    }
  }

  /** Reads all pages. */
  async list<T>(address: Address, signal: AbortSignal, query: Extra['query'] = {}): Promise<readonly T[]> {
    const items: T[] = [];
    let { body } = await this.#call('GET', address, signal, { query });
    for (;;) {
      const { value = [], nextLink } = body as { readonly value?: readonly T[]; readonly nextLink?: string };
      items.push(...value);
      if (nextLink === undefined || nextLink === null || nextLink === '') return items;
      body = (await this.#send('GET', this.#own(nextLink), address, signal, {})).body;
    }
  }

  async put<T>(address: Address, body: unknown, signal: AbortSignal): Promise<Started<T>> {
    return this.#start('PUT', address, signal, { body });
  }

  async patch<T>(
    address: Address,
    body: unknown,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<Started<T>> {
    return this.#start('PATCH', address, signal, { body, ifMatch });
  }

  async post<T>(address: Address, body: unknown, signal: AbortSignal): Promise<Started<T>> {
    return this.#start('POST', address, signal, body === undefined ? {} : { body });
  }

  /** What does not exist is deleted already. */
  async delete(address: Address, signal: AbortSignal): Promise<Started<never>> {
    try {
      return await this.#start<never>('DELETE', address, signal, {});
    } catch (thrown) {
      if (isAbsent(thrown)) return { body: undefined };
      throw thrown;
    }
  }

  /** Waits until the operation has ended and returns its result. Throws its error if it failed. */
  async finish<T>({ body, operation }: Started<T>, signal: AbortSignal): Promise<T | undefined> {
    if (operation === undefined) return body;
    for (;;) {
      const now = await this.poll(operation, signal);
      if (now.state === 'done') return (now.output ?? body) as T | undefined;
      await this.#options.clock.sleep(now.waitMs, signal);
    }
  }

  /** Reads an operation once. Throws its error if it failed. */
  async poll({ poll, result, what }: ArmOperation, signal: AbortSignal): Promise<OperationState> {
    const { reply, body } = await this.#send('GET', this.#own(poll), undefined, signal, {});
    const asked = retryAfterMs(single(reply.headers['retry-after']), this.#options.clock.now());
    const waitMs = Math.min(asked ?? pollMs, longestPollMs);
    const { status = reply.status === 202 ? 'InProgress' : 'Succeeded', properties } = (body ?? {}) as {
      readonly status?: string;
      readonly properties?: { readonly output?: unknown };
    };
    if (/^(failed|cancell?ed)$/i.test(status)) {
      throw armError(what, reply.status, reply.headers, readProblem(body) ?? ended(status));
    }
    if (!/^succeeded$/i.test(status)) return { state: 'running', waitMs };
    if (properties?.output !== undefined) return { state: 'done', output: properties.output };
    if (result === undefined) return { state: 'done' };
    const last = await this.#send('GET', this.#own(result), undefined, signal, {});
    return last.body === undefined ? { state: 'done' } : { state: 'done', output: last.body };
  }

  async #start<T>(method: string, address: Address, signal: AbortSignal, extra: Extra): Promise<Started<T>> {
    const { reply, body } = await this.#call(method, address, signal, extra);
    const poll = single(reply.headers['azure-asyncoperation']);
    const location = reply.status === 202 ? single(reply.headers.location) : undefined;
    const operation = poll ?? location;
    return {
      body: body as T | undefined,
      ...(operation === undefined
        ? {}
        : {
            operation: {
              poll: operation,
              what: describe(method, address),
              ...(poll === undefined || location === undefined ? {} : { result: location }),
            },
          }),
    };
  }

  #call(method: string, address: Address, signal: AbortSignal, extra: Extra): Promise<Reply> {
    const url = new URL(`${this.#options.endpoint}${this.idOf(address)}`);
    url.searchParams.set('api-version', apiVersionOf(address));
    for (const [name, value] of Object.entries(extra.query ?? {})) url.searchParams.set(name, value);
    return this.#send(method, url, address, signal, extra);
  }

  /** Sends until there is an answer. A write is sent again only if Azure said that it did nothing. */
  async #send(
    method: string,
    url: URL,
    address: Address | undefined,
    signal: AbortSignal,
    extra: Extra,
  ): Promise<Reply> {
    const what = address === undefined ? 'an operation' : describe(method, address);
    const kind = address === undefined ? 'poll' : `${method} ${address.type}`;
    for (let attempt = 1; ; attempt += 1) {
      await this.#pace.turn(kind, signal);
      try {
        return await this.#exchange(method, url, what, kind, signal, extra, address);
      } catch (thrown) {
        signal.throwIfAborted();
        const { code, retryable, details } = ensureImagoError(thrown);
        const again =
          code === 'provider-throttled' || (method === 'GET' && code !== 'provider-sign-in-failed');
        if (!retryable || !again || attempt >= tries) throw thrown;
        // A throttled request waits for its turn, with all others of its kind.
        if (code === 'provider-throttled') continue;
        const asked = Number(details?.retryAfterMs ?? 0);
        await this.#options.clock.sleep(Math.max(asked, firstWaitMs * 2 ** (attempt - 1)), signal);
      }
    }
  }

  async #exchange(
    method: string,
    url: URL,
    what: string,
    kind: string,
    signal: AbortSignal,
    { body, ifMatch }: Extra,
    address: Address | undefined,
  ): Promise<Reply> {
    const { transport, onCall, clock } = this.#options;
    signal.throwIfAborted();
    if (address !== undefined) onCall?.(permissionOf(method, address));
    const token = await this.#options.token(signal);
    const reply = await transport.send({
      ...{ method, url, signal },
      body: body === undefined ? (method === 'POST' ? '' : undefined) : JSON.stringify(body),
      headers: {
        ...{ accept: 'application/json', 'user-agent': 'imago', authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      },
    });
    this.#pace.learn(kind, reply.status, reply.headers);
    const parsed = parse(reply);
    if (reply.status < 400) return { reply, body: parsed };
    throw armError(what, reply.status, reply.headers, readProblem(parsed), clock.now());
  }

  /** The token goes to Azure alone, whatever address a reply names. */
  #own(address: string): URL {
    const url = new URL(address);
    if (url.origin === new URL(this.#options.endpoint).origin) return url;
    throw new ImagoError('provider-failed', `Azure named ${url.host}, which is not its own address.`, {
      retryable: false,
    });
  }
}

export function isAbsent(thrown: unknown): boolean {
  if (!(thrown instanceof ImagoError) || thrown.code !== 'provider-not-found') return false;
  return !/^(Subscription|Tenant)NotFound$/.test(String(thrown.details?.azureCode));
}

function parse({ body }: HttpReply): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function describe(method: string, { type, names, action }: Address): string {
  return `${action ?? method} ${type} ${names.join('/')}`.trim();
}

function ended(status: string) {
  return { code: status, message: 'The operation has ended without a reason.' };
}
