// What the routes have to work with: everything that the daemon wired, behind ports. Routes hold no other
// state, so they can be tested against a context made of in-memory parts.

import type { RunningSettings } from '../../../domain/settings/settings.ts';
import type { SettingsFile } from '../../../launcher/settings-file.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Audit, IdempotencyKeys, Tokens } from '../../../ports/database/access.ts';
import type { Archive } from '../../../ports/database/archive.ts';
import type { Catalogue } from '../../../ports/database/catalog.ts';
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
import type { SigningKeys } from '../../../ports/image-store/signing-keys.ts';
import type { Provider, ProviderName } from '../../../ports/provider/provider.ts';
import type { SimControl } from '../../../ports/provider/sim-control.ts';
import type { Journal, OperationDesk, OperationLists } from '../../../ports/workflow/operation.ts';
import type { DoctorReport } from '../../doctor/doctor.ts';
import type { WebhookKey } from '../../webhook/key.ts';
import type { DaemonStatus } from './status.ts';

export interface DaemonContext {
  readonly version: string;
  readonly clock: Clock;
  readonly catalogue: Catalogue;
  readonly promotion: Promotion;
  readonly fleet: Fleet;
  readonly lifecycle: Lifecycle;
  readonly galleryBook: GalleryBook;
  readonly webhooks: Webhooks;
  readonly problems: Problems;
  /** What prune may free of the local store; absent where there is none. */
  readonly space?: ImageSpace;
  readonly cache?: BuildCache;
  /** Reading of single operations; routes never write to it. */
  readonly journal: Pick<Journal, 'get'>;
  readonly operationLists: OperationLists;
  /** While this daemon stands by, every call is refused with `daemon-standby`. */
  readonly operations: OperationDesk;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly idempotency: IdempotencyKeys;
  readonly events: Events;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** Of the lease under which this daemon acts on providers; absent while it stands by. */
  readonly epoch?: number;
  readonly schedules: Schedules;
  readonly settings: SettingsFile & { readonly running: RunningSettings };
  readonly archive: Archive;
  /** The local store of disks; absent while this daemon stands by. */
  readonly images?: ImageStore;
  readonly keys?: SigningKeys;
  /** Signs statements about moves; absent while this daemon stands by. */
  readonly attestor?: Attestor;
  /** What secrets of webhooks are made with; absent while this daemon stands by. */
  readonly webhookKey?: WebhookKey;
  /** Absent when the simulated provider is not loaded. */
  readonly sim?: SimControl;

  /** Never throws and never waits long: a part that does not answer is shown as such. */
  status(): Promise<DaemonStatus>;
  /** Looks at this machine anew on every call; a check that hangs is reported as a warning. */
  doctor(): Promise<DoctorReport>;
  /**
   * Begins a clean stop and returns at once, so that the answer still reaches the caller; `database` also
   * stops the embedded PostgreSQL. A second call changes nothing, except that it can add `database`.
   */
  stop(options: { readonly database: boolean }): void;
  /** Aborted when the daemon begins to stop: event streams end on it. */
  readonly stopping: AbortSignal;
}
