// Defines the call of an endpoint that a handler receives, validated and authorized, and the handlers themselves.
import type {
  BodyOf,
  EndpointName,
  PathOf,
  PlainEndpoint,
  QueryOf,
  ResponseOf,
  WriteEndpoint,
} from '../../../api/contract/types.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Caller } from '../guard/caller.ts';
import type { Limits } from '../guard/limits.ts';
import type { StreamSlots } from '../guard/streams.ts';
import type { StreamedJsonOf } from '../response/json-response.ts';
import type { DaemonContext } from './context.ts';

export interface Call<N extends EndpointName> {
  readonly context: DaemonContext;
  readonly limits: Limits;
  readonly slots: StreamSlots;
  readonly caller: Caller;
  readonly requestId: string;
  readonly path: PathOf<N>;
  readonly query: QueryOf<N>;
  readonly body: BodyOf<N>;
  readonly headers: Headers;
  /** The body of endpoints that accept bytes instead of JSON. */
  readonly upload: AsyncIterable<Uint8Array>;
  /** For endpoints that start operations. */
  readonly whenBusy: 'wait' | 'refuse';
  /** Derived from the idempotency key: the same request gets the same operation, even after a crash. */
  readonly operationId?: string;
  /** Aborts when the caller disconnects, and for streams when the caller's rights end. Writes run to completion. */
  readonly signal: AbortSignal;
}

export type ReadHandler<N extends EndpointName> = (
  call: Call<N>,
) => Promise<ResponseOf<N> | StreamedJsonOf<ResponseOf<N>>>;

/** A write that was validated, but has not run yet. */
export interface PreparedWrite<Answer> {
  /** Subject in the audit log. */
  readonly subject: string;
  /** State of the subject before the write, for the audit log. */
  readonly before?: Json;
  /** Returns the planned changes, one sentence each, without writing. Throws the errors that `run` would throw. */
  plan(): Promise<readonly string[]>;
  run(): Promise<Answer>;
  /** Returns the part of the response that the audit log stores, without secrets. Defaults to all of it. */
  record?(answer: Answer): Json;
  /** The write replaces the database: an audit row that cannot be written is only logged. */
  readonly replacesDatabase?: true;
  /** Called after the audit row is written, before the response is sent. */
  afterwards?(): void;
}

/** Validates the request; writes only in `run`. */
export type WriteHandler<N extends EndpointName> = (call: Call<N>) => Promise<PreparedWrite<ResponseOf<N>>>;

/** Responds with a stream of bytes. */
export type StreamHandler<N extends EndpointName> = (call: Call<N>) => Promise<Response>;

type Writes = WriteEndpoint | 'restore' | 'uploadDisk' | 'sendRecipeFiles';

/** The handler of every endpoint, by its effect in the contract. */
export type Handlers = {
  readonly [N in EndpointName]: N extends Writes
    ? WriteHandler<N>
    : N extends PlainEndpoint
      ? ReadHandler<N>
      : StreamHandler<N>;
};
