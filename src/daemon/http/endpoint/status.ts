// What `imago status` tells: the daemon, its database, where things are, and how much work there is.

import type { Settings } from '../../../domain/settings/settings.ts';
import type { ProviderName } from '../../../ports/provider/provider.ts';
import type { OperationState } from '../../../ports/workflow/operation.ts';

export interface DaemonStatus {
  readonly version: string;
  readonly daemon: {
    readonly pid: number;
    readonly startedAt: string;
    readonly uptimeSeconds: number;
    /** `active` does the work; `standby` waits for the active daemon of the same database to go away. */
    readonly state: 'active' | 'standby';
    /** Grows with each daemon that becomes active; absent while standing by. */
    readonly epoch?: number;
    readonly node: string;
  };
  readonly database: {
    /** The server's version, e.g. `18.4`; absent while it does not answer. */
    readonly version?: string;
    /** Whether this is the PostgreSQL that Imago runs itself. */
    readonly embedded: boolean;
    readonly state: 'ready' | 'unreachable';
    /** The embedded server's process. */
    readonly pid?: number;
  };
  /** The state folder. */
  readonly home: string;
  readonly sockets: {
    readonly api: string;
    /** The folder with PostgreSQL's socket; absent when another PostgreSQL is used. */
    readonly database?: string;
  };
  /** The settings that are in effect. */
  readonly settings: Settings;
  /** `HOST:PORT` when the API also listens on TCP. */
  readonly listen?: string;
  /** The SHA-256 fingerprint of the certificate, or of the authority `ca` that signed one of our own. */
  readonly tls?: { readonly fingerprint: string; readonly ca?: string };
  readonly providers: readonly { readonly name: ProviderName; readonly roles: readonly string[] }[];
  /** How many operations are in each state that is not an end; absent while the database does not answer. */
  readonly operations?: Readonly<Partial<Record<OperationState, number>>>;
  /** How many problems are open; absent while the database does not respond. */
  readonly problems?: number;
}
