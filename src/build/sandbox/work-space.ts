// A folder for one build, in which the sandbox may own files of any user. It is gone when the build ends, and
// what a killed build left is swept by the next one.
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbandoned, ownedName } from '../../host/process/owned-name.ts';
import type { Sandbox } from './sandbox.ts';

export interface WorkSpace {
  readonly folder: string;
  /** Leaves the folder behind for a person to look at. */
  keep(): void;
}

export async function withWorkSpace<T>(
  parent: string,
  sandbox: Sandbox,
  work: (space: WorkSpace) => Promise<T>,
): Promise<T> {
  await mkdir(parent, { recursive: true });
  await sweepWorkSpaces(parent, sandbox);
  const folder = join(parent, ownedName('build-'));
  await mkdir(folder);
  let kept = false;
  try {
    return await work({
      folder,
      keep: () => {
        kept = true;
      },
    });
  } finally {
    if (!kept) await sandbox.remove(folder);
  }
}

/** Removes what processes that are gone had for themselves alone. */
export async function sweepWorkSpaces(parent: string, sandbox: Sandbox): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of await readdir(parent).catch(() => [])) {
    if (!isAbandoned(name)) continue;
    await sandbox.remove(join(parent, name));
    removed.push(name);
  }
  return removed;
}
