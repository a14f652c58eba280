// The paths in the store's directory. Everything outside of `.imago` is an OCI image layout that any tool can read;
// `.imago` holds what the process that has the store open needs, and can be deleted when none does.
import { join } from 'node:path';
import { type Digest, hexOf } from './digest.ts';

export interface StorePaths {
  readonly root: string;
  readonly layoutFile: string;
  readonly indexFile: string;
  readonly blobs: string;
  /** The lock of the process that has the store open. */
  readonly lock: string;
  /** Files that are being written. */
  readonly temporary: string;
  /** Downloads that a later pull resumes, named by the digest that they must have. */
  readonly partial: string;
}

export function storePaths(root: string): StorePaths {
  const state = join(root, '.imago');
  return {
    root,
    layoutFile: join(root, 'oci-layout'),
    indexFile: join(root, 'index.json'),
    blobs: join(root, 'blobs', 'sha256'),
    lock: join(state, 'lock'),
    temporary: join(state, 'tmp'),
    partial: join(state, 'partial'),
  };
}

export function blobPath(paths: StorePaths, digest: Digest): string {
  return join(paths.blobs, hexOf(digest));
}
