// The types of what a daemon knows before its work starts.

import type { StatePaths, Surroundings } from '../launcher/paths.ts';
import type { Listener } from './http/listener.ts';
import type { DaemonOptions } from './options.ts';
import type { PostgresServer } from './postgres/server.ts';
import type { Lifecycle } from './process/lifecycle.ts';
import type { Log } from './process/log.ts';
import type { RuntimePaths } from './process/paths.ts';

/** What is known before the work begins. */
export interface DaemonGround {
  readonly surroundings: Surroundings;
  readonly options: DaemonOptions;
  readonly paths: StatePaths;
  readonly runtime: RuntimePaths;
  readonly log: Log;
  readonly lifecycle: Lifecycle;
  readonly listener: Listener;
  readonly startedAt: Date;
}

export interface WireOptions {
  readonly ground: DaemonGround;
  /** The embedded server; absent when another PostgreSQL is used. */
  readonly postgres?: PostgresServer;
  readonly url: string;
}
