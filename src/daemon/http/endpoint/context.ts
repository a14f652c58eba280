// Lists what handlers work with: the parts of the daemon, behind ports. Handlers have no other state, so that tests can
// pass in-memory parts.
import type { ResponseOf } from '../../../api/contract/types.ts';
import type { RunningSettings } from '../../../domain/settings/settings.ts';
import type { SettingsFile } from '../../../launcher/settings-file.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Audit, IdempotencyKeys, Tokens } from '../../../ports/database/access.ts';
import type { Archive } from '../../../ports/database/archive.ts';
import type { Catalogue } from '../../../ports/database/catalog.ts';
import type { Changes } from '../../../ports/database/changes.ts';
import type { ClusterBook } from '../../../ports/database/clusters.ts';
import type { Events } from '../../../ports/database/events.ts';
import type { Fleet } from '../../../ports/database/fleet.ts';
import type { GalleryBook } from '../../../ports/database/galleries.ts';
import type { BuildCache, ImageSpace, Lifecycle } from '../../../ports/database/lifecycle.ts';
import type { Problems } from '../../../ports/database/problems.ts';
import type { Promotion } from '../../../ports/database/promotion.ts';
import type { Schedules } from '../../../ports/database/schedules.ts';
import type { Webhooks } from '../../../ports/database/webhooks.ts';
import type { Attestor } from '../../../ports/image-store/attestor.ts';
import type { ImageStore } from '../../../ports/image-store/image-store.ts';
import type { SentFiles } from '../../../ports/image-store/sent-files.ts';
import type { SigningKeys } from '../../../ports/image-store/signing-keys.ts';
import type { Clusters } from '../../../ports/kube/clusters.ts';
import type { ControlPlane } from '../../../ports/kube/control-plane.ts';
import type { Provider, ProviderName } from '../../../ports/provider/provider.ts';
import type { SimControl } from '../../../ports/provider/sim-control.ts';
import type { Journal, OperationDesk, OperationLists } from '../../../ports/workflow/operation.ts';
import type { WebhookKey } from '../../webhook/key.ts';

export interface DaemonContext {
  readonly version: string;
  readonly clock: Clock;
  readonly catalogue: Catalogue;
  readonly promotion: Promotion;
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly galleryBook: GalleryBook;
  readonly clusterBook: ClusterBook;
  /** Absent on standby. */
  readonly clusters?: Clusters;
  readonly controlPlane?: ControlPlane;
  readonly webhooks: Webhooks;
  readonly problems: Problems;
  readonly changes: Changes;
  /** Space of the local store that prune can free; absent if there is no store. */
  readonly space?: ImageSpace;
  readonly cache?: BuildCache;
  /** Files of recipes from other hosts; absent on standby. */
  readonly sentFiles?: SentFiles;
  readonly journal: Pick<Journal, 'get' | 'childStates' | 'live'>;
  readonly operationLists: OperationLists;
  /** Throws `daemon-standby` on every call while this daemon is on standby. */
  readonly operations: OperationDesk;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly idempotency: IdempotencyKeys;
  readonly events: Events;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** Epoch of the lease; absent on standby. */
  readonly epoch?: number;
  readonly schedules: Schedules;
  readonly settings: SettingsFile & { readonly running: RunningSettings };
  readonly archive: Archive;
  /** Local store of disks; absent on standby. */
  readonly images?: ImageStore;
  /** The agent, as a tar archive of files from the root on. Throws `agent-missing`. */
  agent(): Promise<{ readonly version: string; readonly archive: Uint8Array }>;
  readonly keys?: SigningKeys;
  /** Signs statements about moves; absent on standby. */
  readonly attestor?: Attestor;
  /** Derives the secrets of webhooks; absent on standby. */
  readonly webhookKey?: WebhookKey;
  /** Absent if the simulated provider is not loaded. */
  readonly sim?: SimControl;

  /** Never throws and never waits long: reports a part that does not respond as unreachable. */
  status(): Promise<ResponseOf<'status'>>;
  /** Checks this host again on every call. Reports a check that hangs as a warning. */
  doctor(): Promise<ResponseOf<'doctor'>>;
  /**
   * Starts a clean stop and returns immediately, so that the response still reaches the caller. `database` also stops
   * the embedded PostgreSQL. Calling it again can only add `database`.
   */
  stop(options: { readonly database: boolean }): void;
  /** Aborts when the daemon starts to stop, which ends event streams. */
  readonly stopping: AbortSignal;
}
