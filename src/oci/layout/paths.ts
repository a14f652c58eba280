// Where things lie in the store's folder. Everything outside of `.imago` is the OCI image layout as any
// tool knows it; `.imago` holds what only running processes need, and may be deleted when none runs.
import { join } from 'node:path';
import { type Digest, hexOf } from './digest.ts';

export interface StorePaths {
  readonly root: string;
  readonly layoutFile: string;
  readonly indexFile: string;
  readonly blobs: string;
  readonly state: string;
  /** Held for every change of index.json, every blob that appears, and while garbage is collected. */
  readonly lock: string;
  readonly locks: string;
  readonly sessions: string;
  readonly temporary: string;
  readonly pins: string;
  /** Downloads that a later pull goes on with, named by the digest that they are to have. */
  readonly partial: string;
}

export function storePaths(root: string): StorePaths {
  const state = join(root, '.imago');
  return {
    root,
    layoutFile: join(root, 'oci-layout'),
    indexFile: join(root, 'index.json'),
    blobs: join(root, 'blobs', 'sha256'),
    state,
    lock: join(state, 'lock'),
    locks: join(state, 'locks'),
    sessions: join(state, 'sessions'),
    temporary: join(state, 'tmp'),
    pins: join(state, 'pins'),
    partial: join(state, 'partial'),
  };
}

export function blobPath(paths: StorePaths, digest: Digest): string {
  return join(paths.blobs, hexOf(digest));
}

/** Unrelated objects of a kind may share a lock: nobody may hold two of a kind at once. */
export function objectLockPath(paths: StorePaths, kind: 'put' | 'pull' | 'sign', name: string): string {
  let sum = 0;
  for (const letter of name) sum = (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0;
  return join(paths.locks, `${kind}-${(sum % 64).toString().padStart(2, '0')}`);
}
