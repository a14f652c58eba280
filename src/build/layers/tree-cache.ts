// The file trees of layers that dpkg made, kept unpacked for a while: the next package that is added can be
// installed over them at once. They are a convenience and no truth: one that does not look as it was left is not
// used, and the layer's archive is unpacked instead.
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { workMount } from '../sandbox/stages.ts';

export interface TreeCache {
  /** The tree of a layer; undefined when there is none or it was touched. */
  find(key: string): Promise<string | undefined>;
  /** Takes a finished tree over; it is at another place afterwards. Does nothing when there is one already. */
  keep(key: string, tree: string): Promise<void>;
}

const keptTrees = 16;
/** One that was used so recently may be in use. */
const inUseMs = 60 * 60 * 1000;

const fingerprintScript = `
cd ${workMount}
find . \\( -type d -printf '%y %m %U %G %p\\0' \\) -o -printf '%y %m %U %G %s %T@ %p %l\\0' | LC_ALL=C sort -z | sha256sum
`;

export function treeCache(cacheFolder: string, sandbox: Sandbox, now: () => number): TreeCache {
  const folder = join(cacheFolder, 'trees', sandbox.name);
  const treePath = (key: string) => join(folder, key);
  const markPath = (key: string) => join(folder, `${key}.mark`);

  async function fingerprint(tree: string): Promise<string> {
    let text = '';
    const run = { what: 'Looking at a kept tree', script: fingerprintScript, folder: tree };
    for await (const piece of sandbox.stream(run)) text += piece.toString('utf8');
    return text.trim();
  }

  async function drop(key: string): Promise<void> {
    await sandbox.remove(markPath(key));
    await sandbox.remove(treePath(key));
  }

  async function prune(): Promise<void> {
    const names = await readdir(folder);
    const keys = names.filter((name) => /^[0-9a-f]{64}$/.test(name));
    const aged = await Promise.all(
      keys.map(async (key) => ({
        key,
        at: (await stat(markPath(key)).catch(() => undefined))?.mtimeMs ?? 0,
      })),
    );
    aged.sort((a, b) => b.at - a.at);
    for (const { key, at } of aged.slice(keptTrees)) if (now() - at > inUseMs) await drop(key);
    for (const { key } of aged.slice(keptTrees * 2)) await drop(key);
  }

  return {
    async find(key) {
      const mark = await readFile(markPath(key), 'utf8').catch(() => undefined);
      if (mark === undefined) return undefined;
      const used = new Date(now());
      await utimes(markPath(key), used, used).catch(() => undefined);
      if ((await fingerprint(treePath(key)).catch(() => undefined)) === mark) return treePath(key);
      await drop(key);
      return undefined;
    },
    async keep(key, tree) {
      await mkdir(folder, { recursive: true });
      const known = await stat(treePath(key)).catch(() => undefined);
      if (known !== undefined) return;
      const mark = await fingerprint(tree);
      try {
        await sandbox.move(tree, treePath(key));
      } catch {
        return;
      }
      await writeFile(markPath(key), mark);
      await prune();
    },
  };
}
