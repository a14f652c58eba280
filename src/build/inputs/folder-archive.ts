// A folder as one archive that is the same wherever the folder lies: by name, with one owner and one time, and
// only the mode that git would keep.
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { staysInside } from '../../disk/tar/entry.ts';
import { type TarItem, tarEntry, writeTar } from '../../disk/tar/writer.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Throws `file-missing` when there is no such folder, and `tar-unsafe` for what cannot be put on a node. */
export async function* folderArchive(folder: string, epoch: number): AsyncGenerator<Buffer> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new ImagoError('file-missing', `There is no folder ${folder}.`);
  yield* writeTar(walk(folder, '', epoch));
}

async function* walk(folder: string, path: string, mtime: number): AsyncGenerator<TarItem> {
  for (const name of (await readdir(join(folder, path))).sort()) {
    const inner = path === '' ? name : `${path}/${name}`;
    const file = join(folder, inner);
    const stats = await lstat(file);
    if (stats.isDirectory()) {
      yield { entry: tarEntry(inner, { type: 'directory', mtime }) };
      yield* walk(folder, inner, mtime);
    } else if (stats.isSymbolicLink()) {
      const link = await readlink(file);
      if (!staysInside(inner, link)) {
        throw new ImagoError('tar-unsafe', `The link ${inner} leads outside of its folder, to ${link}.`);
      }
      yield { entry: tarEntry(inner, { type: 'symlink', link, mtime }) };
    } else if (stats.isFile()) {
      const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755;
      yield { entry: tarEntry(inner, { mode, size: stats.size, mtime }), content: createReadStream(file) };
    } else throw new ImagoError('tar-unsafe', `${inner} is neither file, folder nor link.`);
  }
}
