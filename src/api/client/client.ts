// The typed client of the API. The command line and the dashboard use nothing else. It loads no schemas:
// answers come from a daemon that checked them against the same contract.
import type { IncomingMessage } from 'node:http';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type EndpointName, endpoints } from '../contract/endpoints.ts';
import type {
  AnswerOf,
  InputOf,
  ItemOf,
  ListEndpoint,
  PlainEndpoint,
  WriteEndpoint,
} from '../contract/types.ts';
import type { Plan } from '../schemas/common.ts';
import { type ClientTarget, connectionLost, exchange, readText } from './exchange.ts';
import { readProblem, troubleIn } from './read-problem.ts';
import { type ApiEvent, type WatchOptions, watchEvents } from './watch-events.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Defaults to two minutes. */
  readonly timeoutMs?: number;
  /** A write repeated with the same key is done once. Defaults to a new key for each call. */
  readonly idempotencyKey?: string;
}

type Arguments<N extends EndpointName> =
  Record<never, never> extends InputOf<N>
    ? [input?: InputOf<N>, options?: CallOptions]
    : [input: InputOf<N>, options?: CallOptions];

/** All methods throw what the daemon answered, or what broke on the way, as an ImagoError. */
export interface Client {
  call<N extends PlainEndpoint>(endpoint: N, ...rest: Arguments<N>): Promise<AnswerOf<N>>;
  /** What the write would do. Writes nothing. */
  plan<N extends WriteEndpoint>(endpoint: N, ...rest: Arguments<N>): Promise<Plan>;
  /** All items of a list, page by page as they are asked for. */
  items<N extends ListEndpoint>(endpoint: N, ...rest: Arguments<N>): AsyncGenerator<ItemOf<N>>;
  /** Events in order, each once, across cuts of the connection. Ends only by the signal or an error. */
  events(options?: WatchOptions): AsyncGenerator<ApiEvent>;
  /** Everything in the database. If it is truncated, the last read throws. */
  backup(options?: CallOptions & BackupCall): Promise<AsyncIterable<Uint8Array>>;
  restore(
    source: AsyncIterable<Uint8Array>,
    options?: CallOptions & RestoreCall,
  ): Promise<AnswerOf<'restore'> | Plan>;
  /** Bytes as they come. Cut short, the last read throws. */
  download<N extends DownloadEndpoint>(
    endpoint: N,
    input: InputOf<N>,
    options?: CallOptions,
  ): Promise<Download>;
  /** Sends bytes; the answer comes when all of them have arrived. */
  upload(
    endpoint: 'uploadDisk',
    source: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<AnswerOf<'uploadDisk'>>;
  /** Bytes both ways: what is sent is read as it is made, what comes back ends with the other side. */
  duplex<N extends 'openShell'>(
    endpoint: N,
    input: InputOf<N>,
    source: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Ends what is under way. A second call does nothing. */
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
  /** Where the daemon knows it beforehand. */
  readonly sizeBytes?: number;
  readonly content: AsyncIterable<Uint8Array>;
}

type DownloadEndpoint = 'readRecord' | 'exportVersion' | 'followConsole';

/** What an input looks like to code that treats all endpoints alike. */
interface AnyInput {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly whenBusy?: string;
}

const TIMEOUT_MS = 120_000;
const START_PATIENCE_MS = 30_000;
/** When the daemon knows what is wrong: a database that was only restarted is back sooner than that. */
const TROUBLE_PATIENCE_MS = 8000;
const START_PAUSE_MS = 200;
/** Connections that one request may lose before it fails. */
const MAX_LOST = 3;
const STREAM_TIMEOUT_MS = 24 * 3_600_000;

/** Finds the daemon when the first request is sent: only then is it known whether something is written. */
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
    options: CallOptions & {
      readonly headers?: Record<string, string>;
      readonly upload?: AsyncIterable<Uint8Array>;
    },
  ): Promise<IncomingMessage> {
    const { method, path } = endpoints[name];
    const body = input.body === undefined ? options.upload : JSON.stringify(input.body);
    const signal = signalOf(options);
    target ??= await find(method);
    const response = await exchange(target, {
      method,
      path: fillPath(path, input),
      headers: {
        accept: 'application/json, application/problem+json, text/event-stream, application/octet-stream',
        ...(input.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.upload === undefined ? {} : { 'content-type': 'application/octet-stream' }),
        ...(method === 'GET' || options.upload
          ? {}
          : { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() }),
        ...options.headers,
      },
      signal,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      ...(body === undefined ? {} : { body }),
    });
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw await readProblem(response, signal);
    return response;
  }

  /** Repeats a request whose connection was lost: with the same key, a write is done once. */
  async function ask(name: EndpointName, input: AnyInput, options: CallOptions): Promise<unknown> {
    const keyed = { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() };
    const signal = signalOf(options);
    for (let lost = 0; ; lost += 1) {
      try {
        const attempt = () => request(name, input, keyed);
        const response = await onceStarted(attempt, () => target, signal, lost > 0);
        return parseAnswer(await readText(response, signal));
      } catch (error) {
        const isLost = error instanceof ImagoError && error.code === 'daemon-connection-lost';
        if (!isLost || lost === MAX_LOST || signal.aborted) throw error;
        // The process may be gone: the next request finds the daemon again, and starts it if it must.
        target = undefined;
      }
    }
  }

  async function* items(name: EndpointName, input: AnyInput, options: CallOptions): AsyncGenerator<unknown> {
    let cursor: string | undefined;
    do {
      const query = { limit: 1000, ...input.query, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await ask(name, { ...input, query }, options)) as { items: unknown[]; next?: string };
      yield* page.items;
      cursor = page.next;
    } while (cursor !== undefined);
  }

  const client = {
    call: (name: EndpointName, input: AnyInput = {}, options: CallOptions = {}) => ask(name, input, options),
    plan: (name: EndpointName, input: AnyInput = {}, options: CallOptions = {}) =>
      ask(name, { ...input, query: { ...input.query, dryRun: 'true' } }, options),
    items: (name: EndpointName, input: AnyInput = {}, options: CallOptions = {}) =>
      items(name, input, options),
    events({ subject, ...options }: WatchOptions = {}) {
      const query = subject === undefined ? {} : { subject };
      const open = (lastId: string | undefined, signal: AbortSignal) =>
        request(
          'watchEvents',
          { query },
          { signal, headers: lastId === undefined ? {} : { 'last-event-id': lastId } },
        );
      return watchEvents(open, { ...options, signal: signalOf(options) });
    },
    backup: (options: CallOptions & BackupCall = {}) =>
      request('backup', { query: { withKeys: options.withKeys } }, backupRequest(options)),
    async restore(
      source: AsyncIterable<Uint8Array>,
      { key, dryRun, ...options }: CallOptions & RestoreCall = {},
    ) {
      const query = { withKeys: options.withKeys, key, dryRun };
      const response = await request('restore', { query }, { ...backupRequest(options), upload: source });
      return parseAnswer(await readText(response, signalOf(options)));
    },
    async download(name: DownloadEndpoint, input: AnyInput, options: CallOptions = {}): Promise<Download> {
      const signal = signalOf(options);
      const ask = () => request(name, input, { timeoutMs: STREAM_TIMEOUT_MS, ...options });
      const response = await onceStarted(ask, () => target, signal);
      const length = response.headers['content-length'];
      return {
        ...(length === undefined ? {} : { sizeBytes: Number(length) }),
        content: wholeBody(response, signal),
      };
    },
    async upload(
      name: 'uploadDisk',
      source: AsyncIterable<Uint8Array>,
      options: CallOptions = {},
    ): Promise<unknown> {
      const response = await request(name, {}, { timeoutMs: STREAM_TIMEOUT_MS, ...options, upload: source });
      return parseAnswer(await readText(response, signalOf(options)));
    },
    async duplex(
      name: 'openShell',
      input: AnyInput,
      source: AsyncIterable<Uint8Array>,
      options: CallOptions = {},
    ): Promise<AsyncIterable<Uint8Array>> {
      const response = await request(name, input, { ...options, upload: source });
      return wholeBody(response, signalOf(options));
    },
    close: () => closing.abort(new ImagoError('cancelled', 'The client was closed.')),
  };
  // The contract ties each answer's type to its endpoint's name, which the general code above cannot express.
  return client as unknown as Client;
}

function backupRequest({ passphrase, ...options }: CallOptions & BackupCall) {
  const encoded = passphrase === undefined ? undefined : Buffer.from(passphrase).toString('base64');
  const headers: Record<string, string> = encoded === undefined ? {} : { 'imago-passphrase': encoded };
  return { timeoutMs: STREAM_TIMEOUT_MS, ...options, headers };
}

/** A daemon that is still starting, or starting again, has done nothing of what it was asked: ask again. */
async function onceStarted<T>(
  work: () => Promise<T>,
  target: () => ClientTarget | undefined,
  signal: AbortSignal,
  isRepeated = false,
): Promise<T> {
  const begun = performance.now();
  let trouble: ImagoError | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ImagoError)) throw error;
      const isUnfinished = isRepeated && error.code === 'idempotency-running';
      if (!isUnfinished && !isStarting(target(), error)) throw error;
      trouble = troubleIn(error) ?? trouble;
      const waited = performance.now() - begun;
      if (trouble !== undefined && waited > TROUBLE_PATIENCE_MS) throw trouble;
      if (waited > START_PATIENCE_MS) throw error;
    }
    signal.throwIfAborted();
    await new Promise((done) => setTimeout(done, START_PAUSE_MS));
  }
}

/** Nothing was sent to a socket that is not there, or that nobody listens at. */
function isStarting(target: ClientTarget | undefined, { code, cause }: ImagoError): boolean {
  if (code === 'daemon-starting') return true;
  const system = (cause as NodeJS.ErrnoException | undefined)?.code;
  const isBetween = system === 'ENOENT' || system === 'ECONNREFUSED';
  return isBetween && target !== undefined && 'socketPath' in target && target.isRunning?.() === true;
}

async function* wholeBody(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (error) {
    signal.throwIfAborted();
    throw connectionLost('The connection to the daemon broke within its answer.', error);
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
    throw new ImagoError('daemon-answer-invalid', 'The answer is not valid JSON.', { cause: error });
  }
}
