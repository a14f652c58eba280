// The cache that root's tests share, lent to an ordinary user for one run: he finds in it what they made, and they find
// what he made. Files are linked, so that lending costs a moment and no room; what lies in them never changes.
import { chmod, chown, copyFile, link, lstat, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolders } from '../../src/host/tools/tools.ts';
import { workFolder } from './build-fixture.ts';

export interface LentCache {
  /** For `IMAGO_CACHE`; the user's own. */
  readonly folder: string;
  /** Puts what the user made beside what was there before. What both have stays as it was. */
  giveBack(): Promise<void>;
  /** Takes the folder away. */
  end(): Promise<void>;
}

/** By the sha256 of their content, or checked against one when they are read. */
const bothWays = ['kubernetes', 'test/build/content'];
const oneWay = ['tools', 'test/build/locked-tools'];
/** Changed in place. */
const copied = ['test/build/apt'];

/** Needs root. Should the run be killed, later tests sweep the folder away. */
export async function lendCache(uid: number): Promise<LentCache> {
  const own = cacheFolders()[0] ?? '';
  const work = await workFolder();
  const folder = join(work, 'cache');
  await chmod(work, 0o755);
  for (const part of ['', 'test', 'test/build']) {
    await mkdir(join(folder, part));
    await chown(join(folder, part), uid, uid);
  }
  for (const part of [...bothWays, ...oneWay]) await lay(join(own, part), join(folder, part), uid);
  for (const part of copied) await lay(join(own, part), join(folder, part), uid, true);
  const roots = await rootArchives(own);
  for (const part of roots) await layFile(join(own, part), join(folder, part), uid);
  return {
    folder,
    async giveBack() {
      for (const part of bothWays) await lay(join(folder, part), join(own, part), 0);
      const now = await rootArchives(folder);
      for (const part of now) await layFile(join(folder, part), join(own, part), 0);
      for (const part of roots.filter((one) => !now.includes(one)))
        await rm(join(own, part), { force: true });
    },
    end: () => rm(work, { recursive: true, force: true }),
  };
}

async function rootArchives(cache: string): Promise<readonly string[]> {
  const names = await readdir(join(cache, 'test'));
  return names.filter((name) => name.endsWith('.tar')).map((name) => join('test', name));
}

/** A lock is whoever's it was made by, and a name that ends in `.new` is not finished. */
function stays(name: string): boolean {
  return name === 'lock' || name.endsWith('.lock') || name.endsWith('.new');
}

/** Folders become the owner's. In their order by name, in which a layer comes before the record of it. */
async function lay(from: string, to: string, owner: number, copy = false): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(() => []);
  if (entries.length === 0) return;
  await mkdir(to, { recursive: true });
  await chown(to, owner, owner);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (stays(entry.name)) continue;
    if (entry.isDirectory()) await lay(source, target, owner, copy);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target).catch(unlessThere);
    else await layFile(source, target, owner, copy);
  }
}

/** A file of root's that others may not read is copied for them. */
async function layFile(source: string, target: string, owner: number, copy = false): Promise<void> {
  try {
    const { mode, uid } = await lstat(source);
    if (copy || (owner !== 0 && (mode & 0o004) === 0)) {
      await copyFile(source, target);
      await chown(target, owner, owner);
      return;
    }
    if (owner === 0 && uid !== 0) await chown(source, 0, 0);
    await link(source, target);
  } catch (error) {
    unlessThere(error);
  }
}

/** The other side has it, or another run took it away meanwhile. */
function unlessThere(error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EEXIST' && code !== 'ENOENT') throw error;
}
