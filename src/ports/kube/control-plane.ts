// A Kubernetes control plane on this host, for development and tests. Its processes outlive the daemon.
import type { ControlPlaneState } from '../../domain/cluster/control-plane.ts';

export interface ControlPlane {
  /**
   * Starts what is not running, and returns when the API server is ready. A second call has no effect. Throws
   * `control-plane-programs` if a program is missing, and `control-plane-failed` with the end of the log if one exits.
   */
  up(options: {
    /** Defaults to the version that its data has, else to the newest one on this host. */
    readonly version?: string | undefined;
    readonly signal: AbortSignal;
    readonly progress?: (sentence: string) => void;
  }): Promise<ControlPlaneState & { readonly uid: string }>;
  /** Stops everything; the data stays unless `erase`. A second call has no effect. */
  down(options: { readonly erase: boolean }): Promise<void>;
  /** Returns `undefined` if there is none. */
  look(): Promise<ControlPlaneState | undefined>;
}
