// Starts the active daemon: providers, the workflow engine, operations, schedules, and periodic jobs.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { urlWithEpoch } from '../database/connection/connection.ts';
import { fenceSchema } from '../database/lease/fence.ts';
import { openStore } from '../database/open-database.ts';
import { ensureImagoError } from '../domain/error/imago-error.ts';
import type { Json } from '../domain/value/json.ts';
import { addressGuard } from '../host/network/address-guard.ts';
import { systemClock } from '../host/system-clock.ts';
import { localControlPlane } from '../kube/control-plane/control-plane.ts';
import { openWorldCluster } from '../kube/sim/world-cluster.ts';
import { packageVersion } from '../launcher/package.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { collectGarbage } from '../oci/layout/collect-garbage.ts';
import { type Digest, parseDigest } from '../oci/layout/digest.ts';
import type { OperationDeps } from '../operations/common/deps.ts';
import { operationKinds } from '../operations/kinds.ts';
import { latestUpkeep } from '../operations/reconcile/latest.ts';
import { lifecycleRound } from '../operations/reconcile/lifecycle.ts';
import { reconcile } from '../operations/reconcile/reconcile.ts';
import { imageUpkeep } from '../operations/reconcile/retain-inputs.ts';
import type { Lease } from '../ports/database/lease.ts';
import type { ImageSpace } from '../ports/database/lifecycle.ts';
import type { Provider, ProviderName } from '../ports/provider/provider.ts';
import { createDbosEngine } from '../workflow/engine/dbos/engine.ts';
import { createOperations } from '../workflow/operations.ts';
import { type Background, createBackground } from './background.ts';
import { backupParts, createArchive } from './backup/archive.ts';
import { missingDisks } from './backup/missing-disks.ts';
import { type OpenClusters, openClusters } from './clusters.ts';
import { commonContext } from './common-context.ts';
import type { DaemonEnvironment, WireOptions } from './environment.ts';
import type { DaemonContext } from './http/endpoint/context.ts';
import { createJoinServer, type JoinServer } from './join-server.ts';
import { openProviders, requireProvider } from './open-providers.ts';
import { openProber } from './prober.ts';
import { type Images, openImages } from './providers/images.ts';
import { secretReader } from './providers/secret-reader.ts';
import { createSchedules } from './schedules.ts';
import { watchMoves } from './watch-moves.ts';
import { failingWebhooks, sendWebhooks } from './webhook/deliver.ts';
import { openWebhookKey } from './webhook/key.ts';

const reconcileEveryMs = 60_000;
const cleanUpEveryMs = 3_600_000;
const maintainEveryMs = 600_000;

/** Starts everything that acts. The lifecycle, or the loss of the lease, stops it. */
export async function startActiveDaemon(options: WireOptions, lease: Lease): Promise<DaemonContext> {
  const { environment, url } = options;
  const { lifecycle, log } = environment;
  const acting = AbortSignal.any([lease.signal, lifecycle.ending]);
  const { keep } = environment.options;
  const store = openStore({ url, epoch: lease.epoch, signal: lease.signal, keep });
  lifecycle.onStop({ name: 'the store', deadlineMs: 5000, run: () => store.close() });

  const images = openOwnImages(environment);
  lifecycle.onStop({ name: 'the images', deadlineMs: 2000, run: () => images.close() });
  const background = createBackground({ problems: store.problems, log, signal: acting });
  // A problem that persists is reported again when its job runs.
  for (const source of ['local', 'engine', 'azure', 'registry']) await store.problems.sync(source, []);
  const { providers, sim } = await openProviders({ environment, images, background });
  for (const provider of providers.values()) {
    const run = () => provider.close();
    lifecycle.onStop({ name: `the provider ${provider.name}`, deadlineMs: 5000, run });
  }

  const providerOf = (input: Json) => {
    const named = isJsonObject(input) && typeof input.provider === 'string' ? input.provider : '';
    return providers.get(named as ProviderName) ?? requireProvider(providers, environment.options.provider);
  };
  const world = openWorldCluster(sim.cluster, sim.clock);
  lifecycle.onStop({ name: 'the simulated cluster', deadlineMs: 2000, run: () => world.close() });
  const clusters = openClusters({ book: store.clusterBook, sim: world.cluster, clock: systemClock });
  lifecycle.onStop({ name: 'the clusters', deadlineMs: 2000, run: async () => clusters.close() });
  const joinServer = openJoinServer(environment, providers, clusters, background);
  lifecycle.onStop({ name: 'the join server', deadlineMs: 2000, run: async () => joinServer?.close() });
  const controlPlane = localControlPlane(environment.paths.home, environment.processEnv.env);
  const space = imageSpace(join(environment.paths.home, 'store'), images.store);
  const deps: OperationDeps = {
    catalogue: store.catalogue,
    fleet: store.fleet,
    promotion: store.promotion,
    lifecycle: store.lifecycle,
    galleryBook: store.galleryBook,
    clock: systemClock,
    journal: store.journal,
    imagoVersion: packageVersion(),
    attestor: images.attestor,
    provider: (name = environment.options.provider) => requireProvider(providers, name),
    providers: () => [...providers.values()],
    clusterBook: store.clusterBook,
    clusterOf: clusters.ofPool,
    controlPlane,
    ...(joinServer && { joinSource: joinServer.source }),
    desk: () => operations,
    epoch: lease.epoch,
    readSecret: secretReader(join(environment.paths.home, 'secrets')),
    prober: openProber(join(environment.paths.home, 'probes')),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    images: images.imageStore,
    space,
    cache: images.cache,
  };
  const engine = createDbosEngine({
    databaseUrl: urlWithEpoch(url, lease.epoch),
    calls: store.calls,
    signal: acting,
    log: (level, line) => log[level](line),
  });
  const operations = createOperations({
    engine,
    journal: store.journal,
    kinds: operationKinds(deps),
    clock: systemClock,
    workClock: ({ input }) => providerOf(input).clock,
    newId: newOperationId,
    onTrouble(error) {
      log.error('an operation failed in the engine', { error });
      const message = `The engine failed to run an operation: ${error.message}`;
      background.report('engine', { kind: 'engine-failed', subject: 'job/operations', message });
    },
  });
  controlPlane.resume(acting).catch((error: unknown) => {
    log.error('the Kubernetes cluster of this host cannot be started', { error });
    const message = `The Kubernetes cluster of this host cannot be started: ${ensureImagoError(error).message}`;
    background.report('local', { kind: 'control-plane', subject: 'cluster/local', message });
  });
  await operations.start();
  await fenceSchema(store.database, 'dbos');
  lifecycle.onStop({ name: 'operations', deadlineMs: 15_000, run: () => operations.stop() });

  const schedules = await createSchedules({
    ...{ engine, operations, store: store.schedules, tokens: store.tokens, events: store.events },
  });
  const reconciling = background.job(
    'reconcile',
    reconcileEveryMs,
    async () => (await reconcile({ ...deps, now: systemClock.now }, acting)).problems,
  );
  watchMoves(store, acting, () => reconciling.soon());
  background.job('lifecycle', reconcileEveryMs, async () => (await lifecycleRound(deps, acting)).problems);
  background.job('exceptions', reconcileEveryMs, async () => void (await store.problems.syncOperations()));
  background.job('tidy', cleanUpEveryMs, async () => void (await store.tidy()));
  background.job('sweep', cleanUpEveryMs, async () => {
    for (const provider of providers.values()) await provider.sweep?.(acting);
    return undefined;
  });
  const webhookKey = await openWebhookKey(environment.paths.home);
  const sending = sendWebhooks({
    outbox: store.outbox,
    events: store.events,
    key: webhookKey,
    clock: systemClock,
    signal: acting,
    onError: (error) => log.error('webhooks could not be sent', { error }),
  });
  lifecycle.onStop({ name: 'webhooks', deadlineMs: 2000, run: () => sending });
  background.job('webhooks', reconcileEveryMs, () => failingWebhooks(store.outbox));
  const upkeep = imageUpkeep({
    catalogue: store.catalogue,
    locks: images.imageStore.locks,
    now: systemClock.now,
  });
  background.job('inputs', maintainEveryMs, async () => (images.isUsed() ? upkeep.round(acting) : []));
  background.job('disks', maintainEveryMs, () => missingDisks(store, space));
  background.job('cache', maintainEveryMs, async () => void (await images.cache.trim()));
  const latest = latestUpkeep(deps);
  background.job('latest', maintainEveryMs, () => latest.round(acting));

  return {
    ...commonContext(options, store, { providers, epoch: lease.epoch }),
    operations,
    schedules,
    space,
    cache: images.cache,
    images: images.imageStore,
    sentFiles: images.sentFiles,
    keys: images.keys,
    attestor: images.attestor,
    webhookKey,
    sim: sim.control,
    clusters,
    controlPlane,
    archive: createArchive({
      ...backupParts(environment, store),
      database: store.database,
      disks: () => space.digests(),
      beforeRestore: () => operations.stop(),
      afterRestore: () => lifecycle.restart('a backup was restored'),
    }),
  };
}

/** Returns `undefined` if no provider vouches for its machines. */
function openJoinServer(
  { paths: { home } }: DaemonEnvironment,
  providers: ReadonlyMap<ProviderName, Provider>,
  clusters: OpenClusters,
  background: Background,
): JoinServer | undefined {
  const identities = [...providers.values()].find((one) => one.identities !== undefined)?.identities;
  if (identities === undefined) return undefined;
  const onTrouble = (error: unknown) => {
    const message = `Nodes could not get credentials to join: ${ensureImagoError(error).message}`;
    background.report('local', { kind: 'join', subject: 'provider/local', message });
  };
  const clusterOf = (name: string) => clusters.open(name);
  const server = createJoinServer({ home, identities, clusterOf, onTrouble });
  server.resume().catch(onTrouble);
  return server;
}

function openOwnImages({ paths, processEnv, options }: DaemonEnvironment): Images {
  const { env, uid } = processEnv;
  const guard = addressGuard(options.addresses);
  return openImages({ home: paths.home, env, uid, version: packageVersion(), now: systemClock.now, guard });
}

/** Returns a unique id. Ids sort by their creation time. */
function newOperationId(): string {
  return `${Date.now().toString(36)}-${randomBytes(5).toString('hex')}`;
}

function isJsonObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the space that prune can free in the local store. Does not open a store that was never used. */
function imageSpace(folder: string, open: () => Promise<DiskStore>): ImageSpace {
  async function collect(keep: ReadonlySet<string>, going?: ReadonlySet<string>): Promise<number> {
    if (!existsSync(folder)) return 0;
    const store = await open();
    const roots = [...keep].map((digest): Digest => parseDigest(digest));
    const dryRun = going !== undefined;
    return (await collectGarbage(store, { roots, dryRun, asIfUntagged: going })).bytes;
  }
  return {
    async digests() {
      if (!existsSync(folder)) return new Set();
      return new Set((await (await open()).list()).map(({ digest }) => digest));
    },
    reclaimable: collect,
    reclaim: (keep) => collect(keep),
  };
}
