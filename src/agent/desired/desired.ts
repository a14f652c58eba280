// The desired system: installers write into it as if it were the system, nothing is changed, and in the end it returns the
// required changes. So a plan and an apply are the same code, and an apply is one change.
import type { FileOptions, Host, HostInput, UnpackOptions } from '../../install/host.ts';
import { managedPath, originalsFolder } from '../system/paths.ts';
import { folderOf, nameOf, type System } from '../system/system.ts';
import { type Change, type Effect, isAsWanted, type Wanted } from './change.ts';

export interface Scope {
  readonly step: string;
  /** Absent for files that are shared with others and therefore never removed, like /etc/passwd. */
  readonly owner?: string;
  readonly effects?: readonly Effect[];
}

/** Fetches files. A plan has one that fetches nothing. */
export interface Fetcher {
  /** Returns the path of a file with the input's bytes. */
  file(input: HostInput): Promise<string>;
  /** Returns a directory with the archive's files; `files` are their relative paths. */
  archive(input: HostInput, options: UnpackOptions): Promise<UnpackedTree>;
}

export interface UnpackedTree {
  readonly folder: string;
  readonly files: readonly string[];
}

export interface ManagedPath {
  /** The part of the config that requested it, e.g. `files` or `hotfix:kubelet`. */
  readonly owner: string;
  readonly effects: readonly Effect[];
  /** The original content of the image; absent if it has none. */
  readonly original?: Wanted;
}

/** The paths that belong to the node config: if a config no longer names one, it is removed or reset to the image's. */
export interface Managed {
  readonly paths: Readonly<Record<string, ManagedPath>>;
  /** Users that configs created. */
  readonly users: readonly string[];
}

interface Entry {
  readonly wanted: Wanted;
  readonly scope: Scope;
}

export interface Desired {
  /** Returns the desired system; writes are recorded under the scope. */
  scope(scope: Scope): Host;
  /** Retains the existing paths of an owner, although they are not requested again. */
  keep(owner: string): void;
  keepUsers(names: readonly string[]): void;
  /** Returns the text of the image, regardless of what a config has written since. */
  originalText(path: string): string | undefined;
  /** Returns whether the step changes anything. */
  changedBy(step: string): boolean;
  /** Returns the changes in the order of the requests; paths that the config no longer names come last. */
  changes(): readonly Change[];
  /** Returns every requested path, whether it changes or not. */
  paths(): readonly string[];
}

export function createDesired(system: System, managed: Managed, fetcher: Fetcher): Desired {
  const entries = new Map<string, Entry>();
  const kept = new Set<string>();
  let users: readonly string[] = [];

  function put(path: string, wanted: Wanted, scope: Scope): void {
    entries.delete(path);
    entries.set(path, { wanted, scope });
  }

  function hostOf(scope: Scope): Host {
    return {
      async readText(path) {
        const entry = entries.get(path);
        if (entry === undefined) return system.readText(path);
        return entry.wanted.kind === 'file' ? entry.wanted.text : undefined;
      },
      async list(path) {
        const names = new Set(system.list(path));
        for (const [known, { wanted }] of entries) {
          if (!known.startsWith(`${path}/`)) continue;
          const [name = '', ...below] = known.slice(path.length + 1).split('/');
          if (wanted.kind !== 'absent') names.add(name);
          else if (below.length === 0) names.delete(name);
        }
        return [...names].sort();
      },
      async readLink(path) {
        const entry = entries.get(path);
        if (entry === undefined) return system.readLink(path);
        return entry.wanted.kind === 'link' ? entry.wanted.target : undefined;
      },
      async writeText(path, text, { mode = 0o644, uid = 0, gid = 0 }: FileOptions = {}) {
        put(path, { kind: 'file', text, mode, uid, gid }, scope);
      },
      async makeFolder(path, { mode = 0o755, uid = 0, gid = 0 }: FileOptions = {}) {
        put(path, { kind: 'folder', mode, uid, gid }, { step: scope.step });
      },
      async link(path, target) {
        put(path, { kind: 'link', target }, scope);
      },
      async remove(path) {
        put(path, { kind: 'absent' }, scope);
      },
      async placeFile(input, path, mode) {
        put(path, { kind: 'copy', from: await fetcher.file(input), mode, uid: 0, gid: 0 }, scope);
      },
      async unpackArchive(input, folder, options) {
        const tree = await fetcher.archive(input, options);
        for (const file of tree.files) {
          const from = `${tree.folder}/${file}`;
          const path = `${folder === '/' ? '' : folder}/${file}`;
          const target = system.readLink(from);
          const mode = system.facts(from)?.mode ?? 0o644;
          const wanted: Wanted =
            target === undefined ? { kind: 'copy', from, mode, uid: 0, gid: 0 } : { kind: 'link', target };
          put(path, wanted, scope);
        }
      },
      async unpackArtifact(input) {
        throw new Error(`${input.name}: artifacts of registries are baked, not fetched by nodes`);
      },
    };
  }

  return {
    scope: hostOf,
    keep: (owner) => void kept.add(owner),
    keepUsers(names) {
      users = names;
    },
    originalText(path) {
      const known = managed.paths[path];
      if (known === undefined) return system.readText(path);
      if (known.original?.kind === 'copy') return system.readText(known.original.from);
      return undefined;
    },
    paths: () => [...entries.keys()],
    changedBy: (step) =>
      [...entries].some(
        ([path, { wanted, scope }]) => scope.step === step && !isAsWanted(system, path, wanted),
      ),
    changes() {
      const changes: Change[] = [];
      const paths: Record<string, ManagedPath> = {};
      for (const [path, { wanted, scope }] of entries) {
        const changed = !isAsWanted(system, path, wanted);
        const change = { path, wanted, step: scope.step, effects: scope.effects ?? [] };
        const known = managed.paths[path];
        if (changed && scope.owner !== undefined && known === undefined) {
          changes.push(...keepOriginal(system, path, scope.step));
        }
        if (changed) changes.push(change);
        if (scope.owner === undefined) continue;
        const original = known === undefined ? originalOf(system, path) : known.original;
        paths[path] = { owner: scope.owner, effects: change.effects, ...(original && { original }) };
      }
      for (const [path, known] of Object.entries(managed.paths)) {
        if (entries.has(path)) continue;
        if (kept.has(known.owner)) paths[path] = known;
        else changes.push(...removeOrRestore(system, path, known));
      }
      const text = writtenManaged({ paths, users });
      const wanted: Wanted = { kind: 'file', text, mode: 0o600, uid: 0, gid: 0 };
      if (!isAsWanted(system, managedPath, wanted)) {
        changes.push({ path: managedPath, wanted, step: 'record', effects: [] });
      }
      return changes;
    },
  };
}

/** Returns where the image's own file is stored while a config replaces it. */
function originalPath(path: string): string {
  return `${originalsFolder}/${path.slice(1).replaceAll('%', '%25').replaceAll('/', '%2F')}`;
}

function originalOf(system: System, path: string): Wanted | undefined {
  const facts = system.facts(path);
  if (facts?.kind === 'link') return { kind: 'link', target: system.readLink(path) ?? '' };
  if (facts?.kind !== 'file') return undefined;
  const { mode, uid, gid } = facts;
  return { kind: 'copy', from: originalPath(path), mode, uid, gid };
}

function keepOriginal(system: System, path: string, step: string): readonly Change[] {
  const original = originalOf(system, path);
  if (original?.kind !== 'copy') return [];
  const wanted: Wanted = { ...original, from: path };
  return [{ path: original.from, wanted, step, effects: [] }];
}

function removeOrRestore(system: System, path: string, known: ManagedPath): readonly Change[] {
  const { original, effects } = known;
  const wanted: Wanted = original ?? { kind: 'absent' };
  const changes: Change[] = [];
  if (!isAsWanted(system, path, wanted)) changes.push({ path, wanted, step: 'removal', effects });
  if (original?.kind === 'copy') {
    changes.push({ path: original.from, wanted: { kind: 'absent' }, step: 'removal', effects: [] });
  }
  return changes;
}

/** Returns the path that a change is staged under. */
export function stagedPath(path: string): string {
  return `${folderOf(path)}/.${nameOf(path)}.imago-new`;
}

export function readManaged(system: System): Managed {
  const text = system.readText(managedPath);
  return text === undefined ? { paths: {}, users: [] } : (JSON.parse(text) as Managed);
}

function writtenManaged(managed: Managed): string {
  const paths = Object.fromEntries(Object.entries(managed.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ paths, users: [...managed.users].sort() })}\n`;
}
