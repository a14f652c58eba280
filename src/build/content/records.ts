// Small records of builds, which can be made again: one file each. Readers see the old record or the new one, and a
// damaged one is absent.
import { mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ownedName } from '../../host/process/owned-name.ts';

export type RecordKind = 'built' | 'history' | 'keyrings' | 'locked' | 'sealed' | 'verified';

export function recordPath(cacheFolder: string, kind: RecordKind, name: string): string {
  return join(cacheFolder, 'records', kind, name);
}

/** Returns a JSON record, or `undefined` if it is absent or damaged. The caller checks its fields. */
export async function readRecord<T>(path: string): Promise<Partial<T> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces a record. `at` is its time of last use, and defaults to now. */
export async function writeRecord(
  cacheFolder: string,
  path: string,
  content: string | Uint8Array,
  at?: Date,
): Promise<void> {
  const temporary = join(cacheFolder, 'temporary', ownedName());
  await mkdir(dirname(path), { recursive: true });
  await mkdir(dirname(temporary), { recursive: true });
  try {
    await writeFile(temporary, content);
    if (at !== undefined) await utimes(temporary, at, at);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}
