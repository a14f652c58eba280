// Finds a disk of the store by its content.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type DiskDescription, type DiskStore, describeDisk } from './disk-store.ts';

/** Returns the disk whose raw bytes have this sha256; `undefined` if the store has none. */
export async function findDisk(store: DiskStore, sha256: string): Promise<DiskDescription | undefined> {
  for (const { digest } of await store.list()) {
    const found = await describeDisk(store, digest).catch(unlisted);
    if (found?.sha256 === sha256) return found;
  }
  return undefined;
}

/** It was deleted since it was listed. */
export function unlisted(error: unknown): undefined {
  if (error instanceof ImagoError && error.code === 'store-not-found') return undefined;
  throw error;
}
