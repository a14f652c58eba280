// Returns a path relative to a directory, by their texts alone. Node's own function uses the working directory of the
// process, and that of a daemon is not that of the user who wrote the paths.
import { posix } from 'node:path';

/**
 * `undefined` when the texts do not tell: a folder that begins above what both are seen from, or at the root, has
 * names on the way back that are not in them. An absolute path stays one unless the folder is absolute too.
 */
export function relativePath(folder: string, path: string): string | undefined {
  const target = posix.normalize(path);
  if (posix.isAbsolute(target) && !posix.isAbsolute(folder)) return target;
  if (posix.isAbsolute(target) !== posix.isAbsolute(folder)) return undefined;
  const from = parts(folder);
  const to = parts(target);
  let shared = 0;
  while (shared < from.length && from[shared] === to[shared]) shared += 1;
  const back = from.slice(shared);
  if (back.includes('..')) return undefined;
  return [...back.map(() => '..'), ...to.slice(shared)].join('/') || '.';
}

function parts(path: string): readonly string[] {
  return posix
    .normalize(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
}
