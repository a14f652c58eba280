// The programs and boot files that a lock names, unpacked once and found by what they are: mke2fs, the boot
// loaders and busybox decide about bytes of the disk, so the machine's own are not used.
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Lock, packagesIn } from '../../domain/lock/lock.ts';
import { machineNames } from '../../domain/recipe/variables.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import { unpackTools } from '../../host/tools/fetch-tools.ts';
import { toolGroups } from '../../host/tools/packages.ts';
import type { Environment } from '../../host/tools/tools.ts';
import type { ContentFolder } from '../content/content-folder.ts';

/** The key of the tools of a lock. */
export function toolsKey(lock: Lock): string {
  const packages = packagesIn(lock, 'tools').map(({ sha256 }) => sha256);
  return createHash('sha256')
    .update(JSON.stringify([packages, toolGroups.disk]))
    .digest('hex')
    .slice(0, 32);
}

/** Whether the tools are there and look as they did when they were unpacked. */
export async function hasTools(cacheFolder: string, lock: Lock): Promise<boolean> {
  const folder = join(cacheFolder, 'locked-tools', toolsKey(lock));
  const look = await readFile(join(folder, 'ready'), 'utf8').catch(() => undefined);
  return look !== undefined && look === (await lookOf(folder).catch(() => undefined));
}

/** Says that all tools are in the folder. */
export async function markReady(folder: string): Promise<void> {
  await writeFile(join(folder, 'ready'), await lookOf(folder));
}

/** The places, sizes and times of all files, and where links lead. */
async function lookOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const lines: string[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || path === join(folder, 'ready')) continue;
    lines.push(
      `${relative(folder, path)} ${entry.isSymbolicLink() ? await readlink(path) : await factsOf(path)}`,
    );
  }
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

async function factsOf(path: string): Promise<string> {
  const { mode, size, mtimeNs } = await lstat(path, { bigint: true });
  return [mode, size, mtimeNs].join(' ');
}

/** Where the tools are found. The packages must be in the input store unless the tools are there already. */
export async function lockedTools(
  cacheFolder: string,
  lock: Lock,
  inputs: ContentFolder,
  signal?: AbortSignal,
): Promise<Environment> {
  const parent = join(cacheFolder, 'locked-tools');
  const folder = join(parent, toolsKey(lock));
  const environment = { ...process.env, IMAGO_TOOLS: folder };
  if (await hasTools(cacheFolder, lock)) {
    const now = new Date();
    await utimes(join(folder, 'ready'), now, now).catch(() => undefined);
    return environment;
  }
  await mkdir(parent, { recursive: true });
  const wait = { signal, timeoutMs: Number.POSITIVE_INFINITY };
  await withFileLock(`${folder}.lock`, wait, async () => {
    if (await hasTools(cacheFolder, lock)) return;
    const staged = `${folder}.${process.pid}.new`;
    await rm(staged, { recursive: true, force: true });
    try {
      const packages = packagesIn(lock, 'tools').map(({ sha256 }) => ({
        file: join(sha256.slice(0, 2), sha256),
        sha256,
      }));
      const machine = machineNames[lock.recipe.architecture];
      await unpackTools(staged, inputs.folder, packages, toolGroups.disk, machine, signal);
      await markReady(staged);
      await rm(folder, { recursive: true, force: true });
      await rename(staged, folder);
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  });
  return environment;
}
