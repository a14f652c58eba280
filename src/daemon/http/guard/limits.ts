// How much one caller may ask of the daemon. Over the Unix socket without a token only the sizes count: whoever
// may open it may also stop the daemon.

export interface Limits {
  /** Of a JSON body. Uploads have none, they are read piece by piece. */
  readonly bodyBytes: number;
  /** How long a JSON body may take to arrive, and how long an upload may pause. */
  readonly bodyMs: number;
  /** Requests that a token may send at once, and how many it gets back each second. */
  readonly tokenBurst: number;
  readonly tokenPerSecond: number;
  /** Requests without a good token, by address. */
  readonly addressBurst: number;
  readonly addressPerSecond: number;
  /** Event streams of one caller, and of all together. */
  readonly streamsEach: number;
  readonly streams: number;
  /** How often a stream that has nothing to send shows that it is alive. */
  readonly heartbeatMs: number;
  /** How often the token of an open stream is checked again. */
  readonly rightsMs: number;
  /** How long clients are asked to wait before they come back to a stream that was cut. */
  readonly reconnectMs: number;
  /** How long a provider may take to tell what its machines do before they are shown as `unknown`. */
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
