// What operations work with, passed in by the daemon.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { mixed } from '../../domain/image/simulated.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import type { JoinSource } from '../../domain/node-config/with-join.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import type { ClusterBook } from '../../ports/database/clusters.ts';
import type { Fleet, PoolRecord } from '../../ports/database/fleet.ts';
import type { GalleryBook } from '../../ports/database/galleries.ts';
import type { BuildCache, ImageSpace, Lifecycle } from '../../ports/database/lifecycle.ts';
import type { Promotion } from '../../ports/database/promotion.ts';
import type { Attestor } from '../../ports/image-store/attestor.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { ControlPlane } from '../../ports/kube/control-plane.ts';
import type { Prober } from '../../ports/prober.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { Journal, OperationDesk } from '../../ports/workflow/operation.ts';

export interface OperationDeps {
  readonly catalogue: Catalogue;
  readonly fleet: Fleet;
  readonly promotion: Promotion;
  readonly lifecycle: Lifecycle;
  readonly galleryBook: GalleryBook;
  /** Reading of operations, for those made of others. */
  readonly journal: Pick<Journal, 'get' | 'childStates'>;
  /** For what is decided before an operation begins; steps have a clock of their own. */
  readonly clock: Pick<Clock, 'now'>;
  /** Imago's own version, a part of tested combinations. */
  readonly imagoVersion: string;
  /** Signs what was decided; absent where nothing is signed. */
  readonly attestor?: Attestor | undefined;
  /** The provider of that name, or the daemon's default one; throws `provider-unknown`. */
  provider(name?: string): Provider;
  /** All that are loaded. */
  providers(): readonly Provider[];
  readonly clusterBook: ClusterBook;
  /** The Kubernetes control plane of this host; absent where none can run. */
  readonly controlPlane?: ControlPlane | undefined;
  /**
   * The cluster that the pool belongs to; `undefined` if it belongs to none. Does not connect. Throws
   * `cluster-not-found`.
   */
  clusterOf(pool: Pick<PoolRecord, 'cluster'>): Promise<PoolCluster | undefined>;
  /**
   * Where nodes get the credentials to join this cluster. Starts the server for them. Absent where no machines of this
   * host can join.
   */
  readonly joinSource?: (cluster: string) => Promise<JoinSource>;
  /** Where operations start others whose number is known only when they run. */
  desk(): Pick<OperationDesk, 'submit' | 'cancel' | 'ended'>;
  /** Frees what deleted versions held of the local store; absent where there is none. */
  readonly space?: ImageSpace | undefined;
  /** Absent where nothing is built on this machine. */
  readonly cache?: BuildCache | undefined;
  /** The epoch of the lease under which this daemon acts. */
  readonly epoch: number;
  readonly sha256: (text: string) => string;
  /** The text of a secret that node configs name; `undefined` when there is none. Absent: there are no secrets. */
  readonly readSecret?: (name: string) => Promise<string | undefined>;
  /** Runs the probes of rollouts; absent where none can run. */
  readonly prober?: Prober | undefined;
  /** The local store of disks; absent where only simulated or remote versions are worked on. */
  readonly images?: ImageStore | undefined;
}

/** What is needed to call providers: a run, a plan, or a job of the daemon. */
export type Calls = OperationDeps & { readonly call: CallOptions };

export function callOptions({ epoch }: Pick<OperationDeps, 'epoch'>, signal: AbortSignal): CallOptions {
  return { signal, epoch };
}

/** The local store, for operations that cannot do without it. */
export function requireImages({ images }: OperationDeps): ImageStore {
  if (images !== undefined) return images;
  throw new ImagoError('provider-lacks', 'This daemon has no local store.');
}

/** The mark of what this provider makes: absent if it is real. */
export function simulatedBy(
  deps: Pick<OperationDeps, 'provider'>,
  name: string | undefined,
): { readonly simulated?: true } {
  const { simulated, emulated } = deps.provider(name).abilities;
  return simulated || emulated === true ? { simulated: true } : {};
}

/** Throws `simulation-mixed` if one of the two is simulated and the other is real. */
export function refuseMixing(
  { name, abilities }: Pick<Provider, 'name' | 'abilities'>,
  { image, version, simulated }: Pick<VersionRecord, 'image' | 'version' | 'simulated'>,
): void {
  if (abilities.simulated === (simulated === true)) return;
  throw mixed(`${image}:${version}`, simulated, `provider ${name}`);
}

type Role = 'gallery' | 'pools' | 'nodeConfigs' | 'machines' | 'disks' | 'builder';

/** The provider's role, or the reason why the command cannot run there. */
export function requireRole<R extends Role>(provider: Provider, role: R): NonNullable<Provider[R]> {
  const found = provider[role];
  if (found === undefined) {
    throw new ImagoError('provider-lacks', `Provider ${provider.name} has no ${role}.`, {
      hint: provider.remedy ?? 'See `imago doctor` for what each provider can do here.',
    });
  }
  return found;
}
