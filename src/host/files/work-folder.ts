// A directory for the incomplete files of one piece of work: deleted when the work ends, whether well or not,
// and swept up by the next one when its process was killed.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { nameFileError } from './durable-files.ts';

const pattern = /^imago-work-(\d+)-/;

async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = pattern.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** Runs `work` with an empty folder inside of `parent`, and deletes the directory afterwards. */
export async function withWorkFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(parent, { recursive: true });
  await sweep(parent);
  const folder = await mkdtemp(join(resolve(parent), `imago-work-${process.pid}-`));
  try {
    return await work(folder);
  } catch (error) {
    throw nameFileError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
