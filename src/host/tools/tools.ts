import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { access, constants, mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool, systemPath } from '../process/run-tool.ts';
import { systemFiles, type ToolFile, type ToolGroup, type ToolName, toolGroups } from './packages.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export const sharedCache = '/var/cache/imago';

/** The cache folders, first the one that this user writes: IMAGO_CACHE, or /var/cache/imago for root, or XDG's. */
export function cacheFolders(env: Environment = process.env, uid = process.getuid?.() ?? 1): string[] {
  if (env.IMAGO_CACHE !== undefined && env.IMAGO_CACHE !== '') return [env.IMAGO_CACHE];
  const own = join(env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache'), 'imago');
  return uid === 0 ? [sharedCache] : [own, sharedCache];
}

/**
 * Makes root's cache directory so that every user can enter it, regardless of the umask: the user that PostgreSQL runs
 * as starts programs in it. A directory that exists keeps its mode, except the shared one, which earlier versions made
 * with mode 700.
 */
export function makeCacheFolder(path: string, shared = sharedCache): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true });
  if (process.getuid?.() !== 0) return;
  if (first === undefined && folder === shared && statSync(folder).uid === 0) chmodSync(folder, 0o755);
  for (let made = folder; first !== undefined && made.length >= first.length; made = dirname(made))
    chmodSync(made, 0o755);
}

function toolFolders(env: Environment): string[] {
  const given = (env.IMAGO_TOOLS ?? '')
    .split(':')
    .filter((folder) => folder !== '')
    .map((folder) => resolve(folder));
  const groups = Object.keys(toolGroups) as ToolGroup[];
  const cached = cacheFolders(env).flatMap((cache) =>
    groups.map((group) => join(cache, 'tools', group, 'current')),
  );
  return [...given, ...cached];
}

async function usable(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Debian 12's mke2fs cannot read a tar, and a newer one can only where libarchive is: so it is tried. */
async function readsTar(path: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-probe-'));
  async function* emptyTar() {
    yield Buffer.alloc(1024);
  }
  try {
    await runTool(path, ['-q', '-F', '-t', 'ext4', '-d', '-', join(folder, 'probe'), '1M'], {
      stdin: emptyTar(),
    });
    return true;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const probes: Partial<Record<ToolName, { good: (path: string) => Promise<boolean>; need: string }>> = {
  mke2fs: { good: readsTar, need: 'mke2fs 1.47.1 or newer, with libarchive' },
};

const found = new Map<string, Promise<string | undefined>>();

async function lookUpTool(name: ToolName, env: Environment): Promise<string | undefined> {
  const path = [...(env.PATH ?? '').split(':'), ...systemPath.split(':')].filter((part) =>
    part.startsWith('/'),
  );
  const candidates = [
    ...toolFolders(env).map((folder) => join(folder, 'bin', name)),
    ...path.map((folder) => join(folder, name)),
  ];
  for (const candidate of new Set(candidates)) {
    if (!(await usable(candidate, constants.X_OK))) continue;
    if ((await probes[name]?.good(candidate)) !== false) return candidate;
  }
  return undefined;
}

/** The program's path, or undefined when this machine has none that is good enough. Found once a process. */
export async function findTool(name: ToolName, env: Environment = process.env): Promise<string | undefined> {
  const key = [name, env.IMAGO_TOOLS, env.IMAGO_CACHE, env.PATH, env.XDG_CACHE_HOME, env.HOME].join('\0');
  const known = found.get(key);
  if (known !== undefined) return known;
  const search = lookUpTool(name, env);
  found.set(key, search);
  const path = await search;
  if (path === undefined) found.delete(key);
  return path;
}

/** As findTool, and `tool-missing` when there is none. */
export async function requireTool(name: ToolName, env: Environment = process.env): Promise<string> {
  const path = await findTool(name, env);
  if (path !== undefined) return path;
  throw new ImagoError('tool-missing', `this machine has no ${probes[name]?.need ?? name}`);
}

/** The content of a file that goes into images; `tool-missing` when this machine has none. */
export async function readToolFile(name: ToolFile, env: Environment = process.env): Promise<Buffer> {
  const candidates = [...toolFolders(env).map((folder) => join(folder, 'share', name)), ...systemFiles[name]];
  for (const candidate of candidates) {
    if (await usable(candidate, constants.R_OK)) return readFile(candidate);
  }
  throw new ImagoError('tool-missing', `this machine has no ${name}`);
}
