// The inventory of any stored version, for differences: the one that was attached when it was sealed, else read
// from its disk, as for versions that were captured or imported.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { openDisk } from '../oci/disks/open-disk.ts';
import type { Digest } from '../oci/layout/digest.ts';
import { readRecord } from './attach-records.ts';
import type { Inventory } from './model/inventory.ts';
import { type ReadInventoryOptions, readInventory } from './read-inventory.ts';

/** `store-not-found` when the store lacks the version. Nothing is attached by it. */
export async function loadInventory(
  store: DiskStore,
  digest: Digest,
  options: ReadInventoryOptions = {},
): Promise<Inventory> {
  const kept = await readRecord(store, digest, 'inventory');
  if (kept !== undefined) return parseInventory(kept);
  const disk = await openDisk(store, digest);
  try {
    return await readInventory(disk, options);
  } finally {
    await disk.close();
  }
}

/** Throws `inventory-invalid` for what a newer Imago wrote, or no Imago. */
function parseInventory(text: string): Inventory {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ImagoError('inventory-invalid', 'the inventory is not JSON', { cause });
  }
  if (isInventory(value)) return value;
  throw new ImagoError('inventory-invalid', 'the inventory was written by another version of Imago');
}

/** The store has checked the bytes: only the edition is in question. */
function isInventory(value: unknown): value is Inventory {
  return (
    typeof value === 'object' && value !== null && 'format' in value && value.format === 1 && 'files' in value
  );
}
