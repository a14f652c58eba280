// What the agent needs from the machine that it runs on. QuickJS gives little more than files and processes, so this
// is little: whatever else there is to do (digests, downloads, locks, durability) is done by the system's programs.

export type FileKind = 'file' | 'folder' | 'link' | 'other';

/** Of a path itself: a link is not followed. */
export interface FileFacts {
  readonly kind: FileKind;
  /** Permission bits, with those above 0777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly inode: number;
  readonly changedMs: number;
}

/** Root's when there is no owner. */
export interface FileMode {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface RunOptions {
  readonly input?: string;
  /** 30 s when absent. The process is then killed, and `timedOut` is set. */
  readonly timeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunResult {
  /** 127 when there is no such program, 128 + N when signal N ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/**
 * File methods throw `SystemFault` and never answer half: a file that could not be written in full is taken away
 * again. Nothing here is durable by itself; see `makeDurable`.
 */
export interface System {
  /** Links are followed. Undefined when there is no such file. */
  readText(path: string): string | undefined;
  /** Undefined when there is nothing. */
  facts(path: string): FileFacts | undefined;
  /** Sorted names; none when there is no such folder. */
  list(path: string): readonly string[];
  readLink(path: string): string | undefined;
  /** Makes a new file, exactly of that mode and owner; throws when something is there. */
  writeFile(path: string, text: string, as: FileMode): void;
  /** The same, with the bytes of another file. */
  copyFile(from: string, to: string, as: FileMode): void;
  /** With those above it that are missing. A folder that is there is left as it is. */
  makeFolder(path: string, as?: FileMode): void;
  makeLink(path: string, target: string): void;
  /** Replaces what stands there in one moment. */
  rename(from: string, to: string): void;
  /** A file, a link or an empty folder. Nothing to do when it is not there. */
  remove(path: string): void;
  /** Writes to a file of the kernel's (/proc, /sys). False when the kernel refuses. */
  setKernelValue(path: string, value: string): boolean;
  run(command: readonly string[], options?: RunOptions): Promise<RunResult>;
  /**
   * Takes a lock that the kernel frees when this process ends, however it ends. Undefined when another one holds it
   * for longer than `waitMs`.
   */
  lock(path: string, waitMs: number): Promise<Release | undefined>;
  /** Milliseconds since the kernel started. */
  uptimeMs(): number;
  /** Milliseconds since 1970, by the machine's clock, which may jump. */
  clockMs(): number;
  sleep(ms: number): Promise<void>;
  /** Does the work once that time has passed, beside whatever else is done then. */
  later(ms: number, work: () => void): Cancel;
  log(line: string): void;
}

export type Release = () => void;
/** A second call, and one after the work was done, does nothing. */
export type Cancel = () => void;

/** The codes of the kernel that the agent tells apart; `EIO` stands for all others. */
export type FaultCode = 'ENOSPC' | 'EROFS' | 'EACCES' | 'EEXIST' | 'ENOENT' | 'ENOTDIR' | 'EISDIR' | 'EIO';

export class SystemFault extends Error {
  readonly code: FaultCode;
  readonly path: string;

  constructor(code: FaultCode, path: string) {
    super(`${path}: ${code}`);
    this.name = 'SystemFault';
    this.code = code;
    this.path = path;
  }
}

export function folderOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at <= 0 ? '/' : path.slice(0, at);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Brings files and folders to the disk. Throws when the disk cannot take them. */
export async function makeDurable(system: System, paths: Iterable<string>): Promise<void> {
  const all = [...new Set(paths)];
  if (all.length === 0) return;
  const { exitCode, stderr } = await system.run(['sync', '--', ...all], { timeoutMs: 120_000 });
  if (exitCode === 0) return;
  throw new SystemFault(saysFull(stderr) ? 'ENOSPC' : 'EIO', all[0] ?? '');
}

/** Whether a program names a full disk as its reason. The agent's programs speak English, whatever the system does. */
export function saysFull(text: string): boolean {
  return /no space left|disk quota exceeded/i.test(text);
}

/** Replaces a small file of the agent's own, durably: after a power cut it is the old one or the new one. */
export async function replaceFile(system: System, path: string, text: string, mode: number): Promise<void> {
  const beside = `${path}.new`;
  system.makeFolder(folderOf(path), { mode: 0o700 });
  system.remove(beside);
  system.writeFile(beside, text, { mode });
  await makeDurable(system, [beside]);
  system.rename(beside, path);
  await makeDurable(system, [folderOf(path)]);
}

/** Replaces a file below /run, which lives no longer than the boot. */
export function replaceRunFile(system: System, path: string, text: string, mode: number): void {
  system.makeFolder(folderOf(path), { mode: 0o755 });
  swapIn(system, path, text, mode);
}

/** Replaces a file, and leaves it to others when it reaches the disk: a power cut before may leave an empty one. */
export function swapIn(system: System, path: string, text: string, mode: number): void {
  const beside = `${path}.new`;
  system.remove(beside);
  system.writeFile(beside, text, { mode });
  system.rename(beside, path);
}

export function removeTree(system: System, path: string): void {
  if (system.facts(path)?.kind === 'folder') {
    for (const name of system.list(path)) removeTree(system, `${path}/${name}`);
  }
  system.remove(path);
}
