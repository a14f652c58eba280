// Versions with parents, pools and nodes, written straight into a store: for tests of what keeps and withdraws them.
import { randomUUID } from 'node:crypto';
import type { Store } from '../../src/database/open-database.ts';
import type { Origin, VersionRecord } from '../../src/domain/image/version.ts';
import type { NodeRecord } from '../../src/domain/node/node.ts';
import { digestOf, makeAvailable } from './store.ts';

export interface Seeded {
  /** Adds an available version; `parent` makes it a capture of a node of that version, `from` a build from its lock. */
  version(
    number: string,
    options?: {
      readonly image?: string;
      readonly parent?: string;
      readonly from?: string;
      readonly candidate?: boolean;
      readonly kubernetes?: string;
      readonly disk?: string;
      readonly sizeBytes?: number;
    },
  ): Promise<VersionRecord>;
  move(channel: string, number: string, image?: string): Promise<number>;
  pool(name: string, reference: string, nodes: number): Promise<void>;
  /** The live nodes of a pool are now of this version. */
  reimage(pool: string, number: string): Promise<void>;
}

let next = 0;

/** A store with the image `node`, whose clock is `clock.now` when one is given. */
export async function seed(store: Store): Promise<Seeded> {
  const { catalogue, fleet } = store;

  async function record(pool: string, reference: string, count: number, at: string): Promise<void> {
    const { image, version, digest, channel, move } = await catalogue.resolve(reference);
    const nodes = Array.from(
      { length: count },
      (_, index): Omit<NodeRecord, 'goneAt' | 'schedulable'> => ({
        name: `${pool}-${index}`,
        pool,
        machineId: `${pool}-machine-${index}`,
        ...{ image, version, digest, reference, at },
        ...(channel === undefined ? {} : { channel }),
        ...(move === undefined ? {} : { move }),
      }),
    );
    await fleet.recordNodes(nodes);
  }

  return {
    async version(number, options = {}) {
      const image = options.image ?? 'node';
      await catalogue.ensureImage({ name: image, os: 'linux', architecture: 'x64', numbering: 'semver' });
      next += 1;
      const digest = digestOf(`9${next}`);
      const origin: Origin =
        options.parent === undefined
          ? {
              kind: 'built',
              lockDigest: `lock-${image}-${number}`,
              ...(options.from === undefined ? {} : { parent: options.from }),
            }
          : { kind: 'captured', node: `${image}-donor`, parent: options.parent };
      await catalogue.addVersion({
        image,
        version: number,
        digest,
        diskDigest: digestOf(options.disk ?? `8${next}`),
        sizeBytes: options.sizeBytes ?? 1000,
        origin,
        ...(options.kubernetes === undefined ? {} : { kubernetes: options.kubernetes }),
        operation: randomUUID(),
      });
      if (options.candidate !== true) await makeAvailable(store, image, number, digest);
      const made = await catalogue.getVersion(image, number);
      if (made === undefined) throw new Error(`${image}:${number} was not made.`);
      return made;
    },
    async move(channel, number, image = 'node') {
      return (await catalogue.moveChannel({ image, channel, to: number, by: 'test', why: 'test' })).id;
    },
    async pool(name, reference, nodes) {
      const { image, version, digest, channel, move } = await catalogue.resolve(reference);
      await fleet.addPool({
        name,
        provider: 'sim',
        orchestration: 'uniform',
        size: 'small',
        nodeConfig: '{}',
        ...{ reference, image, version, digest },
        ...(channel === undefined ? {} : { follows: channel }),
        ...(move === undefined ? {} : { move }),
      });
      await record(name, reference, nodes, '2026-01-01T00:00:00.000Z');
    },
    async reimage(pool, number) {
      const known = await fleet.getPool(pool);
      if (known === undefined) throw new Error(`There is no pool ${pool}.`);
      const live = await fleet.listNodes(pool, { limit: 1000 });
      await record(pool, `${known.image}:${number}`, live.items.length, new Date().toISOString());
    },
  };
}
