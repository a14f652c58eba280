// What the agent needs from its machine. QuickJS has little more than files and processes, so this is small: commands of the
// system do everything else (digests, downloads, locks, durability).

export type FileKind = 'file' | 'folder' | 'link' | 'other';

/** The facts of a path itself: a link is not followed. */
export interface FileFacts {
  readonly kind: FileKind;
  /** Permission bits, including those above 0777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly inode: number;
  readonly changedMs: number;
}

/** The mode and owner of a file. Defaults to root. */
export interface FileMode {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface RunOptions {
  readonly input?: string;
  /** Defaults to 30 s. The process is then killed, and `timedOut` is set. */
  readonly timeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunResult {
  /** 127 if there is no such command, 128 + N if signal N ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/**
 * File methods throw `SystemFault` and never leave partial results: an incomplete file is removed again. Nothing here is
 * durable on its own; see `makeDurable`.
 */
export interface System {
  /** Follows links. Returns `undefined` if there is no such file. */
  readText(path: string): string | undefined;
  /** Returns `undefined` if the path does not exist. */
  facts(path: string): FileFacts | undefined;
  /** Returns sorted names; none if there is no such directory. */
  list(path: string): readonly string[];
  readLink(path: string): string | undefined;
  /** Creates a file with exactly that mode and owner; throws if the path exists. */
  writeFile(path: string, text: string, as: FileMode): void;
  /** Does the same with the bytes of another file. */
  copyFile(from: string, to: string, as: FileMode): void;
  /** Creates missing parents as well. An existing directory is left as it is. */
  makeFolder(path: string, as?: FileMode): void;
  makeLink(path: string, target: string): void;
  /** Replaces the target atomically. */
  rename(from: string, to: string): void;
  /** Removes a file, a link, or an empty directory. Does nothing if it does not exist. */
  remove(path: string): void;
  /** Writes to a kernel file (/proc, /sys). Returns `false` if the kernel rejects it. */
  setKernelValue(path: string, value: string): boolean;
  run(command: readonly string[], options?: RunOptions): Promise<RunResult>;
  /**
   * Takes a lock that the kernel releases when this process exits in any way. Returns `undefined` if another process holds
   * it for longer than `waitMs`.
   */
  lock(path: string, waitMs: number): Promise<Release | undefined>;
  /** Returns the milliseconds since the kernel started. */
  uptimeMs(): number;
  /** Returns the milliseconds since 1970, by the machine's clock, which can jump. */
  clockMs(): number;
  sleep(ms: number): Promise<void>;
  /** Runs the work when that time has passed, concurrently with other work. */
  later(ms: number, work: () => void): Cancel;
  log(line: string): void;
}

export type Release = () => void;
/** A second call, and one after the work was done, does nothing. */
export type Cancel = () => void;

/** The kernel's error codes that the agent distinguishes; `EIO` represents all others. */
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

/** Returns the object that the text holds, with fields still to be checked; `undefined` if it holds none. */
export function parseObject<T extends object = Record<string, unknown>>(
  text: string | undefined,
): Partial<T> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? (value as Partial<T>) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a file that only the agent writes, complete or not at all. A damaged file is treated as missing. */
export function readRecord<T extends object>(system: System, path: string): T | undefined {
  return parseObject<T>(system.readText(path)) as T | undefined;
}

/** Returns the id of this boot. */
export function bootIdOf(system: System): string {
  return system.readText('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';
}

export function folderOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at <= 0 ? '/' : path.slice(0, at);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Flushes files and directories to the disk. Throws if that fails. */
export async function makeDurable(system: System, paths: Iterable<string>): Promise<void> {
  const all = [...new Set(paths)];
  if (all.length === 0) return;
  const { exitCode, stderr } = await system.run(['sync', '--', ...all], { timeoutMs: 120_000 });
  if (exitCode === 0) return;
  throw new SystemFault(isDiskFullMessage(stderr) ? 'ENOSPC' : 'EIO', all[0] ?? '');
}

/** Returns whether a command reports a full disk. The agent runs commands in English, regardless of the system's locale. */
export function isDiskFullMessage(text: string): boolean {
  return /no space left|disk quota exceeded/i.test(text);
}

/** Replaces a small file of the agent durably: after a power failure it is the old one or the new one. */
export async function replaceFile(system: System, path: string, text: string, mode: number): Promise<void> {
  const beside = `${path}.new`;
  system.makeFolder(folderOf(path), { mode: 0o700 });
  system.remove(beside);
  system.writeFile(beside, text, { mode });
  await makeDurable(system, [beside]);
  system.rename(beside, path);
  await makeDurable(system, [folderOf(path)]);
}

/** Replaces a file below /run, which does not outlive the boot. */
export function replaceRunFile(system: System, path: string, text: string, mode: number): void {
  system.makeFolder(folderOf(path), { mode: 0o755 });
  swapIn(system, path, text, mode);
}

/** Replaces a file without flushing it: a power failure can leave an empty one. */
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
