// The checklist as it applies to one disk: paths of the running system, through its mounts and symbolic links.
import type { ChecklistItem } from '../../domain/capture/checklist.ts';
import { type ChecklistMatcher, matchChecklist } from '../../domain/capture/match-checklist.ts';
import type { Ext4Entry, Ext4Reader } from '../ext4/reader.ts';
import { type MountedPart, uncleanable } from './parts.ts';

/** Returns more paths to remove, for state that only a database on the disk describes. */
export type PathFinder = (root: Ext4Reader) => Promise<readonly string[]>;
export type PathFinders = Readonly<Record<NonNullable<ChecklistItem['find']>, PathFinder>>;

export interface DiskChecklist {
  /** With patterns for the targets of symbolic links added. */
  readonly items: readonly ChecklistItem[];
  /** One for each walk, with further paths to remove. */
  match(more?: readonly string[]): ChecklistMatcher;
}

const maxLinks = 40;
/** A link into one of these would make a pattern remove the system itself. */
const systemFolders = /^(?:\/(?:usr|etc|var|boot|lib|lib64|bin|sbin)(?:\/(?:lib|bin|sbin|share))?)?$/;

export async function readDiskChecklist(
  mounted: readonly MountedPart[],
  items: readonly ChecklistItem[],
  finders: PathFinders,
): Promise<DiskChecklist> {
  const folders = new Map<string, Promise<string>>();
  const resolved: ChecklistItem[] = [];
  const found = new Map<string, readonly string[]>();
  for (const item of items) {
    const remove: string[] = [];
    for (const pattern of item.remove ?? []) {
      remove.push(pattern);
      const target = await resolvePattern(mounted, pattern, folders);
      if (target !== pattern) remove.push(target);
    }
    resolved.push({ ...item, remove });
    const root = mounted[0]?.reader;
    if (item.find !== undefined && root !== undefined) found.set(item.id, await finders[item.find](root));
  }
  return {
    items: resolved,
    match(more = []) {
      const extra = { id: 'rewrite', reason: '', remove: more };
      return matchChecklist([extra, ...resolved], found);
    },
  };
}

/** The entry at a path of the running system. The last name is not followed. */
export async function findMounted(
  mounted: readonly MountedPart[],
  path: string,
): Promise<{ readonly entry: Ext4Entry; readonly part: MountedPart } | undefined> {
  const holders = mounted.filter(({ mount }) => path === mount || path.startsWith(`${mount}/`));
  const part = holders.toSorted((a, b) => b.mount.length - a.mount.length)[0];
  const entry = await part?.reader.find(path.slice(part.mount.length));
  return part === undefined || entry === undefined ? undefined : { entry, part };
}

/** Follows links in the names before the first wildcard, the last name excepted. */
async function resolvePattern(
  mounted: readonly MountedPart[],
  pattern: string,
  folders: Map<string, Promise<string>>,
): Promise<string> {
  const names = pattern.split('/');
  const wild = names.findIndex((name) => name.includes('*'));
  const count = wild < 0 ? names.length - 1 : wild;
  const folder = names.slice(0, count).join('/');
  const known = folders.get(folder) ?? resolveFolder(mounted, folder);
  folders.set(folder, known);
  const target = await known;
  if (target !== folder && systemFolders.test(target)) {
    throw uncleanable(`${folder} is a symbolic link to ${target === '' ? '/' : target}`);
  }
  return [target, ...names.slice(count)].join('/');
}

async function resolveFolder(mounted: readonly MountedPart[], folder: string): Promise<string> {
  const waiting = folder.split('/');
  let resolved = '';
  let links = 0;
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      resolved = resolved.slice(0, Math.max(0, resolved.lastIndexOf('/')));
      continue;
    }
    const at = `${resolved}/${name}`;
    const entry = (await findMounted(mounted, at))?.entry;
    if (entry?.type !== 'symlink') {
      resolved = at;
      continue;
    }
    links += 1;
    if (links > maxLinks) throw uncleanable(`${folder} leads through too many symbolic links`);
    waiting.unshift(...entry.link.split('/'));
    if (entry.link.startsWith('/')) resolved = '';
  }
  return resolved;
}
