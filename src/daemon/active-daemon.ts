// The active daemon's work: providers, the durable engine, operations, schedules, and what is put right from
// time to time.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { every } from '../async/run-periodically.ts';
import { urlWithEpoch } from '../database/connection/connection.ts';
import { fenceSchema } from '../database/lease/fence.ts';
import { openStore } from '../database/open-database.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Json } from '../domain/value/json.ts';
import { systemClock } from '../host/system-clock.ts';
import type { OperationDeps } from '../operations/common/deps.ts';
import { operationKinds } from '../operations/kinds.ts';
import { latestUpkeep } from '../operations/reconcile/latest.ts';
import { lifecycleRound } from '../operations/reconcile/lifecycle.ts';
import { reconcile } from '../operations/reconcile/reconcile.ts';
import { imageUpkeep } from '../operations/reconcile/retain-inputs.ts';
import type { Lease } from '../ports/database/lease.ts';
import type { Provider, ProviderName } from '../ports/provider/provider.ts';
import { createSimProvider, type SimProvider } from '../providers/sim/provider.ts';
import { createDbosEngine } from '../workflow/engine/dbos/engine.ts';
import { createOperations } from '../workflow/operations.ts';
import { createArchive } from './archive.ts';
import { commonContext } from './common-context.ts';
import type { DaemonGround } from './daemon.ts';
import { canRunMachines } from './default-provider.ts';
import type { DaemonContext } from './http/endpoint/context.ts';
import { packageVersion } from './process/version.ts';
import { builderProvider } from './providers/builder-provider.ts';
import { imageSpace } from './providers/image-space.ts';
import { type Images, openImages } from './providers/images.ts';
import { closeLocal, openLocal } from './providers/local-machines.ts';
import { secretReader } from './providers/secret-reader.ts';
import { createSchedules } from './schedules.ts';
import { watchMoves } from './watch-moves.ts';
import { sendWebhooks } from './webhook/deliver.ts';
import { openWebhookKey } from './webhook/key.ts';
import type { WireOptions } from './wiring.ts';

const RECONCILE_EVERY_MS = 60_000;
const LIFECYCLE_EVERY_MS = 60_000;
const TIDY_EVERY_MS = 3_600_000;
const UPKEEP_EVERY_MS = 600_000;

/** Starts everything that acts. It ends by the lifecycle, or by the loss of the lease. */
export async function startWork(options: WireOptions, lease: Lease): Promise<DaemonContext> {
  const { ground, url } = options;
  const { lifecycle, log } = ground;
  const acting = AbortSignal.any([lease.signal, lifecycle.ending]);
  const { keep = {} } = ground.options;
  const store = openStore({ url, epoch: lease.epoch, signal: lease.signal, keep });
  lifecycle.onStop({ name: 'the store', deadlineMs: 5000, run: () => store.close() });

  const sim = openSim(ground);
  const images = openOwnImages(ground);
  lifecycle.onStop({ name: 'the images', deadlineMs: 2000, run: () => images.close() });
  const local = await openLocalProvider(ground, images);
  const providers = new Map<ProviderName, Provider>([
    ['sim', sim],
    ['local', local],
  ]);
  lifecycle.onStop({ name: 'the simulation', deadlineMs: 2000, run: () => sim.close() });
  lifecycle.onStop({
    name: 'the machines',
    deadlineMs: 5000,
    run: () => closeLocal(local, ground.paths.home),
  });

  const providerOf = (input: Json) => {
    const named = isJsonObject(input) && typeof input.provider === 'string' ? input.provider : '';
    return providers.get(named as ProviderName) ?? requireProvider(providers, ground.options.provider);
  };
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
    provider: (name = ground.options.provider) => requireProvider(providers, name),
    providers: () => [...providers.values()],
    desk: () => operations,
    epoch: lease.epoch,
    readSecret: secretReader(join(ground.paths.home, 'secrets')),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    images: images.imageStore,
    space: imageSpace(join(ground.paths.home, 'store'), images.store),
    cache: images.cache,
  };
  const engine = createDbosEngine({
    databaseUrl: urlWithEpoch(url, lease.epoch),
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
    onTrouble: (error) => log.error('an operation is in trouble', { error }),
  });
  await operations.start();
  await fenceSchema(store.database, 'dbos');
  lifecycle.onStop({ name: 'operations', deadlineMs: 15_000, run: () => operations.stop() });

  const schedules = await createSchedules({ engine, operations, store: store.schedules });
  const again = (ms: number, work: () => Promise<void>) =>
    every(ms, acting, work, (error) => log.error('work in the background failed', { error }));
  const reconciling = again(RECONCILE_EVERY_MS, async () => {
    const report = await reconcile({ ...deps, now: systemClock.now }, acting);
    for (const trouble of report.troubles) log.warn(trouble);
  });
  watchMoves(store, acting, () => reconciling.soon());
  again(LIFECYCLE_EVERY_MS, async () => {
    const report = await lifecycleRound(deps, acting);
    for (const trouble of report.troubles) log.warn(trouble);
  });
  again(TIDY_EVERY_MS, () => store.tidy());
  const webhookKey = await openWebhookKey(ground.paths.home);
  const sending = sendWebhooks({
    outbox: store.outbox,
    events: store.events,
    key: webhookKey,
    clock: systemClock,
    signal: acting,
    onTrouble: (error) => log.error('webhooks could not be sent', { error }),
  });
  lifecycle.onStop({ name: 'webhooks', deadlineMs: 2000, run: () => sending });
  const upkeep = imageUpkeep({
    catalogue: store.catalogue,
    locks: images.imageStore.locks,
    now: systemClock.now,
  });
  again(UPKEEP_EVERY_MS, async () => {
    if (!images.isUsed()) return;
    for (const trouble of await upkeep.round(acting)) log.warn(trouble);
  });
  again(UPKEEP_EVERY_MS, async () => void (await images.cache.trim()));
  const latest = latestUpkeep(deps);
  again(UPKEEP_EVERY_MS, async () => {
    for (const trouble of await latest.round(acting)) log.warn(trouble);
  });

  return {
    ...commonContext(options, store, { providers, epoch: lease.epoch }),
    operations,
    schedules,
    ...(deps.space === undefined ? {} : { space: deps.space }),
    cache: images.cache,
    images: images.imageStore,
    keys: images.keys,
    attestor: images.attestor,
    webhookKey,
    sim: sim.control,
    archive: createArchive({
      database: store.database,
      beforeRestore: () => operations.stop(),
      afterRestore: () => lifecycle.restart('a backup was restored'),
    }),
  };
}

/** The simulated world outlives the daemon. IMAGO_SIM_WORLD lets the daemons of one database share it. */
function openSim({ paths, surroundings, options }: DaemonGround): SimProvider {
  return createSimProvider({
    file: surroundings.env.IMAGO_SIM_WORLD || join(paths.home, 'sim', 'world.db'),
    ...(options.timeScale === undefined ? {} : { timeScale: options.timeScale }),
  });
}

function openOwnImages({ paths, surroundings }: DaemonGround): Images {
  const { env, uid } = surroundings;
  return openImages({ home: paths.home, env, uid, version: packageVersion(), now: systemClock.now });
}

/** Where no machines can be started, recipes still become disks; nothing local keeps the daemon from starting. */
async function openLocalProvider(
  { paths, runtime, surroundings, log }: DaemonGround,
  images: Images,
): Promise<Provider> {
  if (!canRunMachines()) return builderProvider(images.builder);
  try {
    return await openLocal({
      home: paths.home,
      socketFolder: runtime.machineFolder,
      uid: surroundings.uid,
      store: await images.store(),
      builder: images.builder,
      onTrouble: (message, error) => log.warn(message, { error }),
    });
  } catch (error) {
    log.error('the local provider has no machines until this is mended', { error });
    return builderProvider(images.builder);
  }
}

function requireProvider(providers: ReadonlyMap<string, Provider>, name: string): Provider {
  const found = providers.get(name);
  if (found !== undefined) return found;
  throw new ImagoError('provider-unknown', `There is no provider ${name} here.`, {
    hint: `There are: ${[...providers.keys()].join(', ')}.`,
  });
}

/** In the order of their making, and never the same twice. */
function newOperationId(): string {
  return `${Date.now().toString(36)}-${randomBytes(5).toString('hex')}`;
}

function isJsonObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
