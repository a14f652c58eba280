// What the roles of the Azure provider share.
import type { InTurn } from '../../async/keyed-mutex.ts';
import type { OpenByteSource } from '../../disk/bytes/byte-source.ts';
import type { Extent } from '../../disk/bytes/extent.ts';
import { invalid } from '../../domain/error/refusals.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Page, PageQuery } from '../../ports/page.ts';
import type { ProvisioningState } from '../../ports/provider/call.ts';
import type { ArmClient } from './arm/client.ts';
import type { OperationBook } from './arm/operation-book.ts';
import type { Transport } from './arm/transport.ts';

export interface AzureContext {
  readonly arm: ArmClient;
  /** For the addresses of disks, which carry their own right. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly book: OperationBook;
  readonly listings: Listings;
  /** Where galleries, pools and disks are unless another region is named. */
  readonly location: string;
  readonly regions: readonly string[];
  readonly ownGallery: string;
  /** The subnet of new scale sets. */
  readonly subnet: string | undefined;
  readonly sealedDisks: SealedDisks;
  /** How many versions are being made from each uploaded disk. */
  readonly uploads: Map<string, number>;
  readonly inTurn: InTurn;
  /** Runs work in the background. It ends when the provider is closed. */
  later(work: (closing: AbortSignal) => Promise<void>): void;
}

/** A sealed disk of the local store. */
export interface SealedDisk extends OpenByteSource {
  /** The parts that hold data; everything else is zero. */
  readonly extents: readonly Extent[];
}

export interface SealedDisks {
  /** Opens the disk whose raw bytes have this sha256; `undefined` if the store has none. */
  open(diskDigest: string): Promise<SealedDisk | undefined>;
}

export function stateOf(azure: string | undefined): ProvisioningState {
  switch (azure?.toLowerCase()) {
    case 'creating':
      return 'creating';
    case 'succeeded':
      return 'ready';
    case 'failed':
    case 'canceled':
      return 'failed';
    case 'deleting':
      return 'deleting';
    default:
      return 'updating';
  }
}

/** `East US 2` and `eastus2` are the same region. */
export function toRegion(name: string | undefined): string {
  return (name ?? '').toLowerCase().replaceAll(' ', '');
}

const keptMs = 60_000;

/**
 * Azure lists in an order of its own, and pages of its own size. The first page of ours reads the whole list, and the
 * following ones go on in it.
 */
export class Listings {
  readonly #now: () => number;
  readonly #kept = new Map<string, { readonly items: readonly unknown[]; readonly at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async page<T>(
    list: string,
    { cursor, limit }: PageQuery,
    read: () => Promise<readonly T[]>,
    keyOf: (item: T) => string,
    compare: (one: string, other: string) => number = byText,
  ): Promise<Page<T>> {
    if (!Number.isInteger(limit) || limit < 1) {
      throw invalid(`A page must hold at least 1 item, not ${limit}.`);
    }
    for (const [key, { at }] of this.#kept) if (this.#now() - at > keptMs) this.#kept.delete(key);
    const kept = cursor === undefined ? undefined : this.#kept.get(list);
    const items = (kept?.items as readonly T[] | undefined) ?? (await read());
    if (kept === undefined) this.#kept.set(list, { items, at: this.#now() });
    const rest = items
      .filter((item) => cursor === undefined || compare(keyOf(item), cursor) > 0)
      .sort((one, other) => compare(keyOf(one), keyOf(other)));
    const found = rest.slice(0, limit);
    const last = found.at(-1);
    const next = rest.length > limit && last !== undefined ? { next: keyOf(last) } : {};
    if (rest.length <= limit) this.#kept.delete(list);
    return { items: found, ...next };
  }
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
