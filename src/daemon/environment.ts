// Types of the daemon's environment, which is known before its work starts.
import type { ProcessEnvironment, StatePaths } from '../launcher/paths.ts';
import type { Listener } from './http/listener.ts';
import type { DaemonOptions } from './options.ts';
import type { PostgresServer } from './postgres/server.ts';
import type { Lifecycle } from './process/lifecycle.ts';
import type { Log } from './process/log.ts';
import type { RuntimePaths } from './process/paths.ts';

export interface DaemonEnvironment {
  readonly processEnv: ProcessEnvironment;
  readonly options: DaemonOptions;
  readonly paths: StatePaths;
  readonly runtime: RuntimePaths;
  readonly log: Log;
  readonly lifecycle: Lifecycle;
  readonly listener: Listener;
  readonly startedAt: Date;
}

export interface WireOptions {
  readonly environment: DaemonEnvironment;
  /** The embedded server; absent if IMAGO_DATABASE_URL is set. */
  readonly postgres?: PostgresServer;
  readonly url: string;
}
