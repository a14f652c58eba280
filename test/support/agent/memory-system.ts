// A machine in memory, for tests: it can be killed at any call, lose its power, or run out of space. A power cut
// keeps what was made durable; of the rest it keeps the first few changes of names, and no bytes.
import {
  type FileFacts,
  type FileMode,
  folderOf,
  nameOf,
  type RunOptions,
  type RunResult,
  type System,
  SystemFault,
} from '../../../src/agent/system/system.ts';

interface Inode {
  readonly id: number;
  readonly kind: FileFacts['kind'];
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly text: string;
  /** Its bytes are on the disk. */
  durable: boolean;
}

type Tree = ReadonlyMap<string, Inode>;

/** Thrown by every call of a machine that is dead. */
export class MachineDied extends Error {}

export type Program = (command: readonly string[], options: RunOptions) => Partial<RunResult> | undefined;

export interface MemorySystem extends System {
  /** How many calls were made that could be the last. */
  readonly calls: () => number;
  /** The machine dies at its nth call from now on, before or after it takes effect. */
  dieAt(call: number, when: 'before' | 'after'): void;
  /** Writes from the nth on fail for lack of space, for `count` of them. */
  fillAt(write: number, count?: number): void;
  /** Alive again, with all that it had. */
  restart(): void;
  /** Alive again with what a disk would still have; `kept` of the changes of names that were under way. */
  powerCut(kept: number): void;
  /** How many changes of names are not on the disk yet. */
  pendingNames(): number;
  /** Everything but folders: path to its text or `-> target`, with mode and owner. */
  snapshot(): Readonly<Record<string, string>>;
  readonly commands: string[];
  program(handler: Program): void;
  readonly lines: string[];
  advance(ms: number): void;
}

export function memorySystem(files: Readonly<Record<string, string>> = {}): MemorySystem {
  let tree = new Map<string, Inode>();
  let disk: Tree = new Map();
  /** The tree after each change of names since the last time that all were durable. */
  let pending: Tree[] = [];
  let nextId = 1;
  let calls = 0;
  let death: { readonly call: number; readonly when: 'before' | 'after' } | undefined;
  let dead = false;
  let writes = 0;
  let full: { readonly from: number; readonly to: number } | undefined;
  let now = 1000;
  let alarms: { readonly at: number; readonly work: () => void }[] = [];
  let handler: Program = () => undefined;
  const held = new Set<string>();
  const commands: string[] = [];
  const lines: string[] = [];

  for (const [path, text] of Object.entries(files)) {
    addFolders(folderOf(path));
    tree.set(path, inode('file', text, { mode: 0o644 }, true));
  }
  settle();

  function inode(kind: Inode['kind'], text: string, as: FileMode, durable: boolean): Inode {
    return { id: nextId++, kind, text, mode: as.mode, uid: as.uid ?? 0, gid: as.gid ?? 0, durable };
  }

  function addFolders(path: string): void {
    if (path === '/' || tree.has(path)) return;
    addFolders(folderOf(path));
    tree.set(path, inode('folder', '', { mode: 0o755 }, true));
  }

  function settle(): void {
    disk = new Map(tree);
    pending = [];
  }

  function guarded<T>(work: () => T): T {
    if (dead) throw new MachineDied();
    calls += 1;
    if (death?.call === calls && death.when === 'before') die();
    const result = work();
    if (death?.call === calls) die();
    return result;
  }

  function die(): never {
    dead = true;
    throw new MachineDied();
  }

  function changeNames(path: string, work: () => void): void {
    work();
    if (!/^\/(?:run|proc|sys)\//.test(path)) pending.push(new Map(tree));
  }

  function pass(ms: number): void {
    now += ms;
    const due = alarms.filter(({ at }) => at <= now);
    alarms = alarms.filter(({ at }) => at > now);
    for (const { work } of due) work();
  }

  function takeSpace(path: string): void {
    writes += 1;
    if (full !== undefined && writes >= full.from && writes < full.to && !path.startsWith('/run/')) {
      throw new SystemFault('ENOSPC', path);
    }
  }

  function resolve(path: string): string {
    const found = tree.get(path);
    if (found?.kind !== 'link') return path;
    return resolve(found.text.startsWith('/') ? found.text : `${folderOf(path)}/${found.text}`);
  }

  function create(path: string, text: string, as: FileMode, kind: 'file' | 'link'): void {
    takeSpace(path);
    if (tree.has(path)) throw new SystemFault('EEXIST', path);
    if (folderOf(path) !== '/' && tree.get(folderOf(path))?.kind !== 'folder') {
      throw new SystemFault('ENOENT', path);
    }
    changeNames(path, () => tree.set(path, inode(kind, text, as, kind === 'link')));
  }

  function runNow(command: readonly string[], options: RunOptions): RunResult {
    commands.push(command.join(' '));
    const result = { exitCode: 0, stdout: '', stderr: '', timedOut: false, ...handler(command, options) };
    if (command[0] === 'sync' && result.exitCode === 0) {
      for (const path of command.slice(2)) {
        const found = tree.get(path);
        if (found === undefined) return { ...result, exitCode: 1, stderr: `sync: ${path}: no such file` };
        found.durable = true;
      }
      if (command.slice(2).some((path) => tree.get(path)?.kind === 'folder')) settle();
    }
    return result;
  }

  return {
    readText: (path) => {
      const found = tree.get(resolve(path));
      return found?.kind === 'file' ? found.text : undefined;
    },
    facts: (path) => {
      const found = tree.get(path);
      if (found === undefined) return undefined;
      const { kind, mode, uid, gid, text, id } = found;
      return { kind, mode, uid, gid, size: text.length, inode: id, changedMs: id };
    },
    list: (path) =>
      [...tree.keys()]
        .filter((known) => folderOf(known) === path && known !== '/')
        .map(nameOf)
        .sort(),
    readLink: (path) => {
      const found = tree.get(path);
      return found?.kind === 'link' ? found.text : undefined;
    },
    writeFile: (path, text, as) => guarded(() => create(path, text, as, 'file')),
    copyFile: (from, to, as) =>
      guarded(() => {
        const source = tree.get(resolve(from));
        if (source?.kind !== 'file') throw new SystemFault('ENOENT', from);
        create(to, source.text, as, 'file');
      }),
    makeFolder: (path, as = { mode: 0o755 }) =>
      guarded(() => {
        if (tree.has(path)) return;
        takeSpace(path);
        changeNames(path, () => {
          addFolders(folderOf(path));
          tree.set(path, inode('folder', '', as, true));
        });
      }),
    makeLink: (path, target) => guarded(() => create(path, target, { mode: 0o777 }, 'link')),
    rename: (from, to) =>
      guarded(() => {
        const found = tree.get(from);
        if (found === undefined) throw new SystemFault('ENOENT', from);
        if (tree.get(to)?.kind === 'folder') throw new SystemFault('EISDIR', to);
        if (tree.get(folderOf(to))?.kind !== 'folder') throw new SystemFault('ENOENT', to);
        changeNames(to, () => {
          tree.delete(from);
          tree.set(to, found);
        });
      }),
    remove: (path) =>
      guarded(() => {
        if (!tree.has(path)) return;
        if ([...tree.keys()].some((known) => folderOf(known) === path)) throw new SystemFault('EIO', path);
        changeNames(path, () => tree.delete(path));
      }),
    setKernelValue: (path, value) =>
      guarded(() => {
        const found = tree.get(path);
        if (found === undefined) return false;
        tree.set(path, { ...found, text: value });
        return true;
      }),
    run: async (command, options = {}) => guarded(() => runNow(command, options)),
    lock: async (path) =>
      guarded(() => {
        if (held.has(path)) return undefined;
        held.add(path);
        return () => void held.delete(path);
      }),
    uptimeMs: () => now,
    clockMs: () => 1_763_000_000_000 + now,
    sleep: async (ms) => {
      if (dead) throw new MachineDied();
      pass(ms);
    },
    later: (ms, work) => {
      const alarm = { at: now + ms, work };
      alarms.push(alarm);
      return () => {
        alarms = alarms.filter((one) => one !== alarm);
      };
    },
    log: (line) => void lines.push(line),
    calls: () => calls,
    dieAt: (call, when) => {
      calls = 0;
      death = { call, when };
    },
    fillAt: (write, count = Number.POSITIVE_INFINITY) => {
      writes = 0;
      full = { from: write, to: write + count };
    },
    restart: () => {
      dead = false;
      death = undefined;
      full = undefined;
      held.clear();
    },
    powerCut: (kept) => {
      const names = kept === 0 ? disk : (pending[Math.min(kept, pending.length) - 1] ?? disk);
      tree = new Map();
      for (const [path, found] of names) {
        if (path.startsWith('/run/')) continue;
        const durable = found.durable || found.kind !== 'file';
        tree.set(path, durable ? found : { ...found, text: '', durable: true });
      }
      dead = false;
      death = undefined;
      full = undefined;
      held.clear();
      settle();
    },
    pendingNames: () => pending.length,
    snapshot: () =>
      Object.fromEntries(
        [...tree]
          .filter(([, { kind }]) => kind !== 'folder')
          .map(([path, { kind, text, mode, uid, gid }]) => [
            path,
            kind === 'link' ? `-> ${text}` : `${mode.toString(8)} ${uid}:${gid} ${text}`,
          ])
          .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      ),
    commands,
    program: (next) => {
      handler = next;
    },
    lines,
    advance: pass,
  };
}
