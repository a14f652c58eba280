// One call of an endpoint as its handler sees it: checked, authorised, and with everything it may need.
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
import type { StreamedJsonOf } from '../response/streamed-json.ts';
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
  /** The body of endpoints that take bytes instead of JSON. */
  readonly upload: AsyncIterable<Uint8Array>;
  /** For endpoints that start operations. */
  readonly whenBusy: 'wait' | 'refuse';
  /** Derived from the idempotency key: the same request gets the same operation, also after a crash. */
  readonly operationId?: string;
  /** Aborted when the caller is gone, and for streams when the caller's rights end. Writes continue to their end. */
  readonly signal: AbortSignal;
}

export type ReadHandler<N extends EndpointName> = (
  call: Call<N>,
) => Promise<ResponseOf<N> | StreamedJsonOf<ResponseOf<N>>>;

/** A write that was looked at and not refused; nothing is done yet. */
export interface PreparedWrite<Answer> {
  /** What it is about, for the audit. */
  readonly subject: string;
  /** What the subject was like, for the audit. */
  readonly before?: Json;
  /** What it would do, one sentence each, from reading alone. Throws what `run` would be refused with. */
  plan(): Promise<readonly string[]>;
  run(): Promise<Answer>;
  /** What the audit keeps of the answer. Defaults to all of it; never a secret. */
  record?(answer: Answer): Json;
  /** The database that the audit is in is not the same afterwards: a row that cannot be written is only logged. */
  readonly replacesDatabase?: true;
  /** Called when the answer is audited and about to be sent. */
  afterwards?(): void;
}

/** Reads and refuses; writes only in `run`. */
export type WriteHandler<N extends EndpointName> = (call: Call<N>) => Promise<PreparedWrite<ResponseOf<N>>>;

/** Answers with bytes as they come. Called when the caller is let in and the query is checked. */
export type StreamHandler<N extends EndpointName> = (call: Call<N>) => Promise<Response>;

type Writes = WriteEndpoint | 'restore' | 'uploadDisk';

/** The handler of every endpoint, by its effect: the contract says which is which. */
export type Handlers = {
  readonly [N in EndpointName]: N extends Writes
    ? WriteHandler<N>
    : N extends PlainEndpoint
      ? ReadHandler<N>
      : StreamHandler<N>;
};
