// Imago's own operations on a real store and the simulated cloud, with an engine in memory whose process can
// be made to die: to compare the world before and after.
import { createHash, randomUUID } from 'node:crypto';
import { openClusters } from '../../src/daemon/clusters.ts';
import type { Store } from '../../src/database/open-database.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import { openWorldCluster, type WorldCluster } from '../../src/kube/sim/world-cluster.ts';
import type { OperationDeps } from '../../src/operations/common/deps.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import type { OperationRecord, OperationRequest } from '../../src/ports/workflow/operation.ts';
import {
  createSimProvider,
  type SimProvider,
  type SimProviderOptions,
} from '../../src/providers/sim/provider.ts';
import { never } from '../../src/workflow/engine/run-body.ts';
import { createOperations, type Operations } from '../../src/workflow/operations.ts';
import { createMemoryEngine } from './engine/memory-engine.ts';
import { createMemoryEngineState } from './engine/memory-engine-state.ts';
import { createMemoryJournal, createMemoryJournalState } from './engine/memory-journal.ts';
import type { CrashPoint } from './engine/memory-run.ts';

export interface CallPoint {
  /** Role and method, such as `pools.stopNode`, or `cluster.drain`. */
  readonly call: string;
  readonly moment: 'before' | 'after';
}

const roles = ['gallery', 'pools', 'nodeConfigs', 'machines', 'disks'] as const;

export interface Product {
  readonly sim: SimProvider;
  readonly store: Store;
  /** The cluster of its simulated pools. */
  readonly world: WorldCluster;
  /** What its operations work with. */
  readonly deps: OperationDeps;
  /** Asked at every point of the engine's record; `die` kills the process there. */
  atPoint: (point: CrashPoint) => 'die' | undefined;
  /** Asked before and after every call to the provider and to the cluster; `die` kills the process there. */
  atCall: (point: CallPoint) => 'die' | undefined;
  /** Submits, and follows to the end across deaths. */
  run(request: Omit<OperationRequest, 'by'>): Promise<OperationRecord>;
  /** What others do while no process lives. */
  atDeath: () => Promise<void>;
  /** Makes everything that waits, or is about to, look at once. */
  wake(): Promise<void>;
  /** Whether someone cancels the operation while no process lives. */
  cancelAtDeath: boolean;
  /** All that is there, of the cloud and of the store, without what only time changes. */
  look(): Promise<unknown>;
  /** What node configs can name. */
  readonly secrets: Map<string, string>;
  /** Closes the store too. */
  close(): Promise<void>;
}

export async function createProduct(
  store: Store,
  options: Partial<SimProviderOptions> = {},
): Promise<Product> {
  const sim = createSimProvider({ timeScale: 200_000, ceilings: {}, ...options });
  const world = openWorldCluster(sim.cluster, sim.clock);
  const watched = <T extends object>(role: string, target: T): T =>
    new Proxy(target, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property);
        if (typeof value !== 'function') return value;
        return async (...given: readonly unknown[]) => {
          const call = `${role}.${String(property)}`;
          if (dies({ call, moment: 'before' })) return never();
          const result: unknown = await value.apply(object, given);
          return dies({ call, moment: 'after' }) ? never() : result;
        };
      },
    });
  const provider = {
    ...sim,
    ...Object.fromEntries(roles.flatMap((role) => (sim[role] ? [[role, watched(role, sim[role])]] : []))),
  } as SimProvider;
  const cluster = watched('cluster', world.cluster);
  const clusters = openClusters({ book: store.clusterBook, sim: cluster, clock: systemClock });
  const engineState = createMemoryEngineState();
  const journalState = createMemoryJournalState();
  // A new one is what a new process finds: the one before it writes nothing any more.
  let journal = createMemoryJournal(journalState);
  const deps: OperationDeps = {
    catalogue: store.catalogue,
    fleet: store.fleet,
    promotion: store.promotion,
    lifecycle: store.lifecycle,
    galleryBook: store.galleryBook,
    clock: systemClock,
    journal: { get: (id) => journal.get(id), childStates: (id) => journal.childStates(id) },
    imagoVersion: '0.0.0-test',
    provider: () => provider,
    providers: () => [provider],
    clusterBook: store.clusterBook,
    clusterOf: clusters.ofPool,
    desk: requireDesk,
    epoch: 0,
    readSecret: async (name) => product.secrets.get(name),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
  };
  let operations: Operations | undefined;
  let kill = () => {};
  let isAlive = false;

  /** A process that has died makes no further call. */
  function dies(point: CallPoint): boolean {
    if (!isAlive || product.atCall(point) !== 'die') return false;
    isAlive = false;
    kill();
    return true;
  }

  let died: Promise<void> = Promise.resolve();

  function requireDesk(): Operations {
    if (operations === undefined) throw new Error('No process lives.');
    return operations;
  }

  async function start(): Promise<Operations> {
    const engine = createMemoryEngine({
      state: engineState,
      clock: systemClock,
      crash: (point) => product.atPoint(point) === 'die',
    });
    died = engine.died;
    kill = () => engine.kill();
    isAlive = true;
    journal = createMemoryJournal(journalState);
    operations = createOperations({
      ...{ engine, journal, kinds: operationKinds(deps) },
      ...{ clock: systemClock, workClock: () => sim.clock, newId: randomUUID },
    });
    await operations.start();
    return operations;
  }

  async function ended(id: string): Promise<OperationRecord> {
    for (;;) {
      const desk = operations ?? (await start());
      const watch = new AbortController();
      const end = desk.ended(id, watch.signal);
      end.catch(() => undefined);
      const answer = await Promise.race([end, died]);
      if (answer !== undefined) return answer;
      watch.abort();
      await desk.stop();
      operations = undefined;
      await product.atDeath();
      if (product.cancelAtDeath) await createMemoryJournal(journalState).requestCancel(id, 'test');
    }
  }

  const product: Product = {
    sim,
    store,
    world,
    deps,
    atPoint: () => undefined,
    atCall: () => undefined,
    secrets: new Map(),
    atDeath: async () => undefined,
    cancelAtDeath: false,
    async run(request) {
      const desk = operations ?? (await start());
      const { id } = await desk.submit({ ...request, by: 'test' });
      return ended(id);
    },
    async wake() {
      for (const { id, state } of await journal.live()) {
        if (state === 'running' || state === 'waiting') await operations?.wake(id);
      }
    },
    async look() {
      const { pools, nodes, machines, versions, snapshots } = sim.world.view();
      const records = await store.fleet.listPools({ limit: 100 });
      const alive = await store.fleet.listNodes(undefined, { limit: 100 });
      return {
        pools: pools.map(({ etag: _etag, ...pool }) => pool),
        nodes: nodes.map(({ name, machineId, power, version, protection }) => ({
          name,
          machineId,
          power,
          version,
          protection,
        })),
        machines,
        snapshots,
        halfVersions: versions
          .filter(({ state }) => state !== 'ready')
          .map(({ image, version }) => `${image}:${version}`),
        records: records.items,
        nodeRecords: alive.items.map(({ name, machineId, version }) => ({ name, machineId, version })),
      };
    },
    async close() {
      await operations?.stop();
      await world.close();
      await sim.close();
      await store.close();
    },
  };
  return product;
}
