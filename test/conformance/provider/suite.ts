// What the conformance suite needs from a provider under test, and what its parts share. Nothing here knows
// how a provider works: waiting is injected, and what a provider lacks is declared and then checked.
import { it } from 'vitest';
import type { SealedDisk } from '../../../src/ports/provider/builder.ts';
import type { CallOptions } from '../../../src/ports/provider/call.ts';
import type { GalleryVersion, GalleryVersionSpec } from '../../../src/ports/provider/gallery.ts';
import type { MachineSpec } from '../../../src/ports/provider/machines.ts';
import type { PoolModel, PoolSpec, ProviderNode, ProviderPool } from '../../../src/ports/provider/pools.ts';
import type { Provider } from '../../../src/ports/provider/provider.ts';
import { everything } from './checks.ts';

/** Roles and abilities that a provider may lack. */
export type Lackable =
  | 'gallery'
  | 'galleries'
  | 'pools'
  | 'nodeConfigs'
  | 'machines'
  | 'disks'
  | 'builder'
  | 'uniform'
  | 'flexible'
  | 'reimage'
  | 'upgrade'
  | 'protect'
  | 'regions'
  | 'excludeFromLatest'
  | 'deletionGuard'
  | 'galleryDigest'
  | 'snapshots'
  | 'runCommand'
  | 'fencing'
  /** Not of the provider but of its test bench: `failRegion`. */
  | 'regionFaults';

export interface ProviderTraits {
  /** What it does not have, with the reason. The suite fails when this is not exactly what the provider says. */
  readonly lacks: Partial<Record<Lackable, string>>;
  /** A machine size that it knows. */
  readonly size: string;
  /** How many nodes the pools of the suite have. At least 2. */
  readonly nodes: number;
}

export interface ProviderUnderTest {
  readonly provider: Provider;
  /** A sealed disk that versions and machines can be made from. The same text gives the same disk. */
  sealDisk(text: string, options: CallOptions): Promise<SealedDisk>;
  /** Lets the provider's work go on until `done`; throws when that takes longer than it ever should. */
  settle(done: () => Promise<boolean>): Promise<void>;
  /** Makes the next copy of that version to that region fail. Absent where a provider cannot be made to. */
  failRegion?(image: string, version: string, region: string): Promise<void>;
  /** Leaves nothing running. */
  close(): Promise<void>;
}

export type MakeProvider = () => Promise<ProviderUnderTest>;

type Role = 'gallery' | 'galleries' | 'pools' | 'nodeConfigs' | 'machines' | 'disks' | 'builder';

let names = 0;

/** What the parts of the suite work with. Only `has` and the `it…` may be used before a test runs. */
export class Suite {
  readonly traits: ProviderTraits;
  #under: ProviderUnderTest | undefined;
  #line: Promise<Line> | undefined;

  constructor(traits: ProviderTraits) {
    this.traits = traits;
  }

  async open(make: MakeProvider): Promise<void> {
    this.#under = await make();
  }

  async close(): Promise<void> {
    await this.#under?.close();
  }

  has(...things: readonly Lackable[]): boolean {
    return things.every((thing) => this.traits.lacks[thing] === undefined);
  }

  /** A test of what needs these. */
  itWith(things: readonly Lackable[], name: string, body: () => Promise<void>): void {
    if (this.has(...things)) it(name, body);
  }

  /** A test of how the lack of one of these is told, where the others are there. */
  itWithout(
    missing: readonly Lackable[],
    things: readonly Lackable[],
    name: string,
    body: () => Promise<void>,
  ): void {
    if (!this.has(...missing) && this.has(...things)) it(name, body);
  }

  get under(): ProviderUnderTest {
    if (this.#under === undefined) throw new Error('The provider was not opened.');
    return this.#under;
  }

  get provider(): Provider {
    return this.under.provider;
  }

  role<R extends Role>(role: R): NonNullable<Provider[R]> {
    const found = this.provider[role];
    if (found === undefined) throw new Error(`The provider has no ${role}.`);
    return found;
  }

  /** Of the active daemon. */
  readonly options: CallOptions = { signal: new AbortController().signal, epoch: 5 };

  /** A name that nothing in this run has. */
  name(stem: string): string {
    names += 1;
    return `${stem}-${names}`;
  }

  get homeRegions(): GalleryVersionSpec['regions'] {
    const home = this.provider.abilities.regions[0];
    return home === undefined ? [] : [{ region: home, replicas: 1 }];
  }

  /** An image with two versions, ready, of different content; made once for the whole suite. */
  line(): Promise<Line> {
    this.#line ??= this.#makeLine();
    return this.#line;
  }

  async #makeLine(): Promise<Line> {
    const image = this.name('line');
    const disks = [
      await this.under.sealDisk('one', this.options),
      await this.under.sealDisk('two', this.options),
    ] as const;
    if (this.has('gallery')) {
      await this.createImage(image);
      for (const [index, disk] of disks.entries()) await this.publish(image, `1.${index}.0`, disk);
    }
    return {
      image,
      first: { version: '1.0.0', ...disks[0] },
      second: { version: '1.1.0', ...disks[1] },
    };
  }

  async createImage(name: string): Promise<void> {
    await this.role('gallery').createImage(
      { name, os: 'linux', architecture: 'x64', generation: 2 },
      this.options,
    );
  }

  versionSpec(image: string, version: string, disk: SealedDisk): GalleryVersionSpec {
    return {
      image,
      version,
      source: { kind: 'disk', digest: disk.diskDigest },
      regions: this.homeRegions,
      excludeFromLatest: false,
      tags: { made: 'by-the-suite' },
    };
  }

  async publish(image: string, version: string, disk: SealedDisk): Promise<GalleryVersion> {
    await this.role('gallery').createVersion(this.versionSpec(image, version, disk), this.options);
    return this.readyVersion(image, version);
  }

  async readyVersion(image: string, version: string): Promise<GalleryVersion> {
    const gallery = this.role('gallery');
    return this.until(
      () => gallery.getVersion(image, version, this.options),
      (one) => one.state === 'ready',
    );
  }

  async goneVersion(image: string, version: string): Promise<void> {
    await this.gone(() => this.role('gallery').getVersion(image, version, this.options));
  }

  model(
    image: string,
    of: { readonly version: string; readonly digest: string },
    nodeConfig = '{}',
  ): PoolModel {
    const { version, digest } = of;
    return { image, version, digest, size: this.traits.size, nodeConfig, tags: {} };
  }

  async poolSpec(change: Partial<PoolSpec> = {}): Promise<PoolSpec> {
    const { image, first } = await this.line();
    return {
      name: this.name('pool'),
      orchestration: this.has('uniform') ? 'uniform' : 'flexible',
      model: this.model(image, first),
      capacity: this.traits.nodes,
      ...change,
    };
  }

  /** A pool whose nodes are all ready and running. */
  async pool(change: Partial<PoolSpec> = {}): Promise<PoolSpec> {
    const spec = await this.poolSpec(change);
    await this.role('pools').createPool(spec, this.options);
    await this.settledPool(spec.name);
    return spec;
  }

  async dropPool(name: string): Promise<void> {
    const pools = this.role('pools');
    await pools.deletePool(name, this.options);
    await this.gone(() => pools.getPool(name, this.options));
  }

  /** The pool when neither it nor any of its nodes changes by itself any more. */
  async settledPool(name: string): Promise<ProviderPool> {
    const pools = this.role('pools');
    return this.until(
      () => pools.getPool(name, this.options),
      async (pool) => isSettled(pool.state) && (await this.nodes(name)).every(nodeIsSettled),
    );
  }

  nodes(pool: string): Promise<readonly ProviderNode[]> {
    return everything((query) => this.role('pools').listNodes(pool, query, this.options));
  }

  async node(pool: string, name: string): Promise<ProviderNode> {
    const found = await this.role('pools').getNode(pool, name, this.options);
    if (found === undefined) throw new Error(`Pool ${pool} has no node ${name}.`);
    return found;
  }

  async machineSpec(change: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const { image, first } = await this.line();
    return {
      name: this.name('machine'),
      image,
      version: first.version,
      digest: first.digest,
      size: this.traits.size,
      firmware: 'uefi',
      userData: '{}',
      tags: { made: 'by-the-suite' },
      ...change,
    };
  }

  /** Waits until the thing is there and `is` what is wanted. */
  async until<T>(
    read: () => Promise<T | undefined>,
    is: (thing: T) => boolean | Promise<boolean>,
  ): Promise<T> {
    let last: T | undefined;
    await this.under.settle(async () => {
      last = await read();
      return last !== undefined && (await is(last));
    });
    if (last === undefined) throw new Error('It never came.');
    return last;
  }

  async gone(read: () => Promise<unknown>): Promise<void> {
    await this.under.settle(async () => (await read()) === undefined);
  }
}

export interface Line {
  readonly image: string;
  readonly first: SealedDisk & { readonly version: string };
  readonly second: SealedDisk & { readonly version: string };
}

function isSettled(state: ProviderPool['state']): boolean {
  return state === 'ready' || state === 'failed';
}

function nodeIsSettled(node: ProviderNode): boolean {
  return isSettled(node.state) && (node.power === 'running' || node.power === 'stopped');
}
