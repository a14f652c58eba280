// A folder for one build, in which the sandbox may own files of any user. It is gone when the build ends, and
// what a killed build left is swept by the next one.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from './sandbox.ts';

const pattern = /^build-(\d+)-(\d+)-[0-9a-f-]+$/;

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
  const folder = join(parent, `build-${process.pid}-${startOf(process.pid)}-${randomUUID()}`);
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

/** Removes the folders of builds whose process is gone. */
export async function sweepWorkSpaces(parent: string, sandbox: Sandbox): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of await readdir(parent).catch(() => [])) {
    const match = pattern.exec(name);
    if (match === null || startOf(Number(match[1])) === match[2]) continue;
    await sandbox.remove(join(parent, name));
    removed.push(name);
  }
  return removed;
}

/** When a process began, so that its number is not mistaken for that of a later one. */
function startOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
