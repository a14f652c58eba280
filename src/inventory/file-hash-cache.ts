// Remembers the hashes of files between the versions of an image, by the names that the store gives to their bytes:
// what is on the next version unchanged is then neither unpacked nor hashed again. Only what was hashed here is in
// it, never what came attached to a version. It saves time and nothing else, so trouble with it is never a failure.
import { hash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileHashes } from './hash-files.ts';

export interface FileHashCache {
  /** What is remembered of an image; nothing when that is absent, damaged or of another edition. */
  recall(image: string): Promise<ReadonlyMap<string, FileHashes>>;
  /** Replaces what is remembered of an image, and forgets images that were long not built. */
  remember(image: string, hashes: ReadonlyMap<string, FileHashes>): Promise<void>;
}

export interface FileHashCacheLimits {
  readonly images: number;
  readonly ageMs: number;
}

const defaultLimits: FileHashCacheLimits = { images: 32, ageMs: 90 * 86_400_000 };
const edition = Buffer.from('IMAGOFH1');
const nameSize = 32;
const sha256Size = 32;
const recordSize = nameSize + sha256Size + 20;

export function fileHashCache(
  folder: string,
  now: () => number,
  limits: FileHashCacheLimits = defaultLimits,
): FileHashCache {
  const pathOf = (image: string) => join(folder, `${hash('sha256', image)}.hashes`);
  return {
    async recall(image) {
      const bytes = await readFile(pathOf(image)).catch(() => undefined);
      return bytes === undefined ? new Map() : decodeHashes(bytes);
    },
    async remember(image, hashes) {
      const draft = join(folder, `${randomUUID()}.draft`);
      try {
        await mkdir(folder, { recursive: true });
        await writeFile(draft, encodeHashes(hashes));
        await rename(draft, pathOf(image));
        await forget(folder, now(), limits);
      } catch {
        await rm(draft, { force: true }).catch(() => undefined);
      }
    },
  };
}

/** Retains the newest ones, if they are not too old; drafts of killed processes are removed in the same way. */
async function forget(folder: string, now: number, { images, ageMs }: FileHashCacheLimits): Promise<void> {
  const found: { path: string; at: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const at = (await stat(path).catch(() => undefined))?.mtimeMs;
    if (at !== undefined) found.push({ path, at });
  }
  found.sort((a, b) => b.at - a.at);
  for (const [place, { path, at }] of found.entries()) {
    if (place >= images || now - at > ageMs) await rm(path, { force: true });
  }
}

export function encodeHashes(hashes: ReadonlyMap<string, FileHashes>): Buffer {
  const records = Buffer.alloc(hashes.size * recordSize);
  let at = 0;
  for (const [name, { sha256, sha1 }] of hashes) {
    records.write(name, at, 'hex');
    records.write(sha256, at + nameSize, 'hex');
    records.write(sha1, at + nameSize + sha256Size, 'hex');
    at += recordSize;
  }
  const body = Buffer.concat([edition, records]);
  return Buffer.concat([body, hash('sha256', body, 'buffer')]);
}

/** Empty for bytes that are not whole. */
export function decodeHashes(bytes: Buffer): Map<string, FileHashes> {
  const hashes = new Map<string, FileHashes>();
  const end = bytes.length - sha256Size;
  const body = bytes.subarray(0, Math.max(0, end));
  if (!body.subarray(0, edition.length).equals(edition)) return hashes;
  if (!hash('sha256', body, 'buffer').equals(bytes.subarray(end))) return hashes;
  for (let at = edition.length; at + recordSize <= end; at += recordSize) {
    const sha256 = body.toString('hex', at + nameSize, at + nameSize + sha256Size);
    const sha1 = body.toString('hex', at + nameSize + sha256Size, at + recordSize);
    hashes.set(body.toString('hex', at, at + nameSize), { sha256, sha1 });
  }
  return hashes;
}
