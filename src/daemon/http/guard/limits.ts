// Limits of requests. Over the Unix socket without a token only sizes are limited, because its callers can also stop the
// daemon.

export interface Limits {
  /** Maximum size of a JSON body. Uploads are streamed and have no limit. */
  readonly bodyBytes: number;
  /** Maximum time for a JSON body to arrive, and for an upload to pause. */
  readonly bodyMs: number;
  /** Burst of requests for one token, and its refill for each second. */
  readonly tokenBurst: number;
  readonly tokenPerSecond: number;
  /** The same for requests without a valid token, by address. */
  readonly addressBurst: number;
  readonly addressPerSecond: number;
  /** Maximum number of event streams for one caller, and for all. */
  readonly streamsEach: number;
  readonly streams: number;
  /** Interval of heartbeats in an idle stream. */
  readonly heartbeatMs: number;
  /** Interval of checks of the token of an open stream. */
  readonly rightsMs: number;
  /** Pause before clients reconnect to an interrupted stream. */
  readonly reconnectMs: number;
  /** Time limit for a provider to return the state of its machines, which is `unknown` afterwards. */
  readonly providerMs: number;
}

export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  bodyMs: 30_000,
  tokenBurst: 200,
  tokenPerSecond: 50,
  addressBurst: 30,
  addressPerSecond: 1,
  streamsEach: 32,
  streams: 256,
  heartbeatMs: 15_000,
  rightsMs: 2000,
  reconnectMs: 500,
  providerMs: 10_000,
};
