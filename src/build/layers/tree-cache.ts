// The unpacked file trees of layers that dpkg made: the next package can be installed over them immediately. They only
// save time: a tree that has changed is not used, and the layer's archive is unpacked instead.
import { mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { workMount } from '../sandbox/stages.ts';

export interface TreeCache {
  /** Returns the tree of a layer, or `undefined` if there is none or it has changed. */
  find(key: string): Promise<string | undefined>;
  /** Moves a finished tree here. Does nothing if there is one already. */
  keep(key: string, tree: string): Promise<void>;
}

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
    const run = { what: 'Checking a stored tree', script: fingerprintScript, folder: tree };
    for await (const piece of sandbox.stream(run)) text += piece.toString('utf8');
    return text.trim();
  }

  async function drop(key: string): Promise<void> {
    await sandbox.remove(markPath(key));
    await sandbox.remove(treePath(key));
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
    },
  };
}
