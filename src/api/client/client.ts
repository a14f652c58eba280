// The typed client of the API, for the command line and the dashboard. It loads no schemas: a daemon with the same
// contract checked the responses.
import type { IncomingMessage } from 'node:http';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { addresses } from '../contract/addresses.generated.ts';
import type {
  EndpointName,
  InputOf,
  ItemOf,
  ListEndpoint,
  PlainEndpoint,
  ResponseOf,
  WriteEndpoint,
} from '../contract/types.ts';
import type { Plan } from '../schemas/common.ts';
import { type ClientTarget, connectionLost, exchange, readText } from './exchange.ts';
import { readProblem, startupErrorIn } from './read-problem.ts';
import { type ApiEvent, type WatchOptions, watchEvents } from './watch-events.ts';

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Defaults to two minutes. */
  readonly timeoutMs?: number;
  /** A write repeated with the same key runs once. Defaults to a new key for each call. */
  readonly idempotencyKey?: string;
}

type Arguments<N extends EndpointName> =
  Record<never, never> extends InputOf<N>
    ? [input?: InputOf<N>, options?: RequestOptions]
    : [input: InputOf<N>, options?: RequestOptions];

/** All methods throw the error of the daemon, or of the connection, as an ImagoError. */
export interface Client {
  call<N extends PlainEndpoint>(endpoint: N, ...rest: Arguments<N>): Promise<ResponseOf<N>>;
  /** Returns a preview of the write, and writes nothing. */
  plan<N extends WriteEndpoint>(endpoint: N, ...rest: Arguments<N>): Promise<Plan>;
  /** Yields all items of a list, and requests pages as needed. */
  items<N extends ListEndpoint>(endpoint: N, ...rest: Arguments<N>): AsyncGenerator<ItemOf<N>>;
  /** Yields events in order, each once, across reconnections. Ends only by the signal or an error. */
  events(options?: WatchOptions): AsyncGenerator<ApiEvent>;
  /** Streams everything in the database. If it is truncated, the last read throws. */
  backup(options?: RequestOptions & BackupCall): Promise<AsyncIterable<Uint8Array>>;
  restore(
    source: AsyncIterable<Uint8Array>,
    options?: RequestOptions & RestoreCall,
  ): Promise<ResponseOf<'restore'> | Plan>;
  /** Streams bytes. If they are truncated, the last read throws. */
  download<N extends DownloadEndpoint>(
    endpoint: N,
    input: InputOf<N>,
    options?: RequestOptions,
  ): Promise<Download>;
  /** Sends bytes, and returns when all of them have arrived. */
  upload<N extends 'uploadDisk' | 'sendRecipeFiles'>(
    endpoint: N,
    source: AsyncIterable<Uint8Array>,
    options?: RequestOptions,
  ): Promise<ResponseOf<N>>;
  /** Streams bytes in both directions concurrently. The returned stream ends with the peer. */
  duplex<N extends 'openShell'>(
    endpoint: N,
    input: InputOf<N>,
    source: AsyncIterable<Uint8Array>,
    options?: RequestOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Aborts all requests. A second call has no effect. */
  close(): void;
}

export interface BackupCall {
  readonly withKeys?: boolean;
  readonly passphrase?: string | undefined;
}

export interface RestoreCall extends BackupCall {
  readonly dryRun?: boolean;
  /** The public key that must have signed the backup, in PEM. */
  readonly key?: string | undefined;
}

export interface Download {
  /** The size, if the daemon knows it in advance. */
  readonly sizeBytes?: number | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

type DownloadEndpoint = 'readRecord' | 'exportVersion' | 'followConsole' | 'readAgent';

/** The input of any endpoint. */
interface AnyInput {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly whenBusy?: string;
}

const defaultTimeoutMs = 120_000;
const maxStartMs = 30_000;
/** If the daemon reports an error: a database that only restarts is back sooner. */
const maxErrorMs = 8000;
const startPauseMs = 200;
/** Lost connections after which a request fails. */
const maxLost = 3;
const streamTimeoutMs = 24 * 3_600_000;

/** Finds the daemon when the first request is sent: only then it is known whether the request writes. */
export type FindTarget = (method: string) => Promise<ClientTarget>;

export function createClient(given: ClientTarget | FindTarget): Client {
  const find: FindTarget = typeof given === 'function' ? given : async () => given;
  let target: ClientTarget | undefined;
  const closing = new AbortController();

  function signalOf(options: { readonly signal?: AbortSignal }): AbortSignal {
    return options.signal === undefined ? closing.signal : AbortSignal.any([options.signal, closing.signal]);
  }

  async function request(
    name: EndpointName,
    input: AnyInput,
    options: RequestOptions & {
      readonly headers?: Record<string, string>;
      readonly upload?: AsyncIterable<Uint8Array>;
    },
  ): Promise<IncomingMessage> {
    const [method = '', path = ''] = addresses[name].split(' ');
    const body = input.body === undefined ? options.upload : JSON.stringify(input.body);
    const signal = signalOf(options);
    target ??= await find(method);
    const response = await exchange(target, {
      method,
      path: fillPath(path, input),
      headers: {
        accept: 'application/json, application/problem+json, text/event-stream, application/octet-stream',
        ...(input.body !== undefined && { 'content-type': 'application/json' }),
        ...(options.upload !== undefined && { 'content-type': 'application/octet-stream' }),
        ...(method === 'GET' || options.upload
          ? {}
          : { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() }),
        ...options.headers,
      },
      signal,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      body,
    });
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw await readProblem(response, signal);
    return response;
  }

  /** Repeats a request whose connection was lost. With the same key, a write runs once. */
  async function send(name: EndpointName, input: AnyInput, options: RequestOptions): Promise<unknown> {
    const keyed = { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() };
    const signal = signalOf(options);
    for (let lost = 0; ; lost += 1) {
      try {
        const attempt = () => request(name, input, keyed);
        const response = await onceStarted(attempt, () => target, signal, lost > 0);
        return parseAnswer(await readText(response, signal));
      } catch (error) {
        const isLost = error instanceof ImagoError && error.code === 'daemon-connection-lost';
        if (!isLost || lost === maxLost || signal.aborted) throw error;
        // The daemon can have exited: the next request finds it again, or starts it.
        target = undefined;
      }
    }
  }

  async function* items(
    name: EndpointName,
    input: AnyInput,
    options: RequestOptions,
  ): AsyncGenerator<unknown> {
    let cursor: string | undefined;
    do {
      const query = { limit: 1000, ...input.query, ...(cursor && { cursor }) };
      const page = (await send(name, { ...input, query }, options)) as { items: unknown[]; next?: string };
      yield* page.items;
      cursor = page.next;
    } while (cursor !== undefined);
  }

  const client = {
    call: (name: EndpointName, input: AnyInput = {}, options: RequestOptions = {}) =>
      send(name, input, options),
    plan: (name: EndpointName, input: AnyInput = {}, options: RequestOptions = {}) =>
      send(name, { ...input, query: { ...input.query, dryRun: 'true' } }, options),
    items: (name: EndpointName, input: AnyInput = {}, options: RequestOptions = {}) =>
      items(name, input, options),
    events({ subject, ...options }: WatchOptions = {}) {
      const query = { subject };
      const open = (lastId: string | undefined, signal: AbortSignal) =>
        request(
          'watchEvents',
          { query },
          { signal, headers: lastId === undefined ? {} : { 'last-event-id': lastId } },
        );
      return watchEvents(open, { ...options, signal: signalOf(options) });
    },
    backup: (options: RequestOptions & BackupCall = {}) =>
      request('backup', { query: { withKeys: options.withKeys } }, backupRequest(options)),
    async restore(
      source: AsyncIterable<Uint8Array>,
      { key, dryRun, ...options }: RequestOptions & RestoreCall = {},
    ) {
      const query = { withKeys: options.withKeys, key, dryRun };
      const response = await request('restore', { query }, { ...backupRequest(options), upload: source });
      return parseAnswer(await readText(response, signalOf(options)));
    },
    async download(name: DownloadEndpoint, input: AnyInput, options: RequestOptions = {}): Promise<Download> {
      const signal = signalOf(options);
      const attempt = () => request(name, input, { timeoutMs: streamTimeoutMs, ...options });
      const response = await onceStarted(attempt, () => target, signal);
      const length = response.headers['content-length'];
      return {
        sizeBytes: length === undefined ? undefined : Number(length),
        content: completeBody(response, signal),
      };
    },
    async upload(
      name: 'uploadDisk' | 'sendRecipeFiles',
      source: AsyncIterable<Uint8Array>,
      options: RequestOptions = {},
    ): Promise<unknown> {
      const response = await request(name, {}, { timeoutMs: streamTimeoutMs, ...options, upload: source });
      return parseAnswer(await readText(response, signalOf(options)));
    },
    async duplex(
      name: 'openShell',
      input: AnyInput,
      source: AsyncIterable<Uint8Array>,
      options: RequestOptions = {},
    ): Promise<AsyncIterable<Uint8Array>> {
      const response = await request(name, input, { ...options, upload: source });
      return completeBody(response, signalOf(options));
    },
    close: () => closing.abort(new ImagoError('cancelled', 'The client was closed.')),
  };
  // The contract connects the type of a response to the name of its endpoint, which the code above cannot express.
  return client as unknown as Client;
}

function backupRequest({ passphrase, ...options }: RequestOptions & BackupCall) {
  const encoded = passphrase === undefined ? undefined : Buffer.from(passphrase).toString('base64');
  const headers: Record<string, string> = encoded === undefined ? {} : { 'imago-passphrase': encoded };
  return { timeoutMs: streamTimeoutMs, ...options, headers };
}

/** Repeats a request while the daemon is starting, because it has done nothing yet. */
async function onceStarted<T>(
  work: () => Promise<T>,
  target: () => ClientTarget | undefined,
  signal: AbortSignal,
  isRepeated = false,
): Promise<T> {
  const startedAt = performance.now();
  let failure: ImagoError | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ImagoError)) throw error;
      const isUnfinished = isRepeated && error.code === 'idempotency-running';
      if (!isUnfinished && !isStarting(target(), error)) throw error;
      failure = startupErrorIn(error) ?? failure;
      const waited = performance.now() - startedAt;
      if (failure !== undefined && waited > maxErrorMs) throw failure;
      if (waited > maxStartMs) throw error;
    }
    signal.throwIfAborted();
    await new Promise((done) => setTimeout(done, startPauseMs));
  }
}

/** Returns whether nothing was sent, because the socket does not exist or has no listener. */
function isStarting(target: ClientTarget | undefined, { code, cause }: ImagoError): boolean {
  if (code === 'daemon-starting') return true;
  const system = (cause as NodeJS.ErrnoException | undefined)?.code;
  const isBetween = system === 'ENOENT' || system === 'ECONNREFUSED';
  return isBetween && target !== undefined && 'socketPath' in target && target.isRunning?.() === true;
}

async function* completeBody(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    signal.throwIfAborted();
    throw connectionLost('The connection to the daemon was lost during the response.', error);
  }
}

function fillPath(template: string, input: AnyInput): string {
  const path = template.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = input.path?.[key];
    if (value === undefined || value === '') {
      throw new ImagoError('input-invalid', `The ${key} is empty.`);
    }
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...input.query, whenBusy: input.whenBusy })) {
    if (value !== undefined) query.set(key, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ImagoError('daemon-answer-invalid', 'The response is not valid JSON.', { cause: error });
  }
}
