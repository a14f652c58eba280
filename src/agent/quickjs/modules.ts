// The parts of the QuickJS modules `std` and `os` that the agent uses. They are globals (`qjs --std`). Calls of `os` return
// a negative errno.

export interface QuickJsFile {
  puts(text: string): void;
  flush(): number;
  close(): number;
}

export interface QuickJsStd {
  readonly err: QuickJsFile;
  readonly out: QuickJsFile;
  exit(code: number): never;
  getenv(name: string): string | undefined;
  getenviron(): Record<string, string>;
  loadFile(path: string): string | null;
  fdopen(fd: number, flags: string): QuickJsFile | null;
  gc(): void;
}

export interface QuickJsStat {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly ino: number;
  readonly ctime: number;
}

interface ExecOptions {
  readonly block?: boolean;
  readonly usePath?: boolean;
  readonly stdin?: number;
  readonly stdout?: number;
  readonly stderr?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface QuickJsOs {
  readonly O_RDONLY: number;
  readonly O_WRONLY: number;
  readonly O_RDWR: number;
  readonly O_CREAT: number;
  readonly O_EXCL: number;
  readonly S_IFMT: number;
  readonly S_IFREG: number;
  readonly S_IFDIR: number;
  readonly S_IFLNK: number;
  readonly SIGTERM: number;
  readonly SIGINT: number;
  readonly SIGUSR1: number;
  readonly SIGPIPE: number;
  readonly WNOHANG: number;
  open(path: string, flags: number, mode?: number): number;
  close(fd: number): number;
  read(fd: number, buffer: ArrayBuffer, offset: number, length: number): number;
  write(fd: number, buffer: ArrayBuffer, offset: number, length: number): number;
  lstat(path: string): [QuickJsStat | null, number];
  readdir(path: string): [string[], number];
  readlink(path: string): [string, number];
  mkdir(path: string, mode: number): number;
  symlink(target: string, path: string): number;
  rename(from: string, to: string): number;
  remove(path: string): number;
  pipe(): [number, number] | null;
  exec(command: readonly string[], options: ExecOptions): number;
  waitpid(pid: number, options: number): [number, number];
  kill(pid: number, signal: number): number;
  getpid(): number;
  now(): number;
  signal(signal: number, handler: (() => void) | null | undefined): void;
  setReadHandler(fd: number, handler: (() => void) | null): void;
  setTimeout(handler: () => void, ms: number): object;
  clearTimeout(timer: object): void;
}

export interface QuickJsModules {
  readonly std: QuickJsStd;
  readonly os: QuickJsOs;
  /** The arguments, without the script. */
  readonly words: readonly string[];
}

/** Returns `undefined` outside of QuickJS. */
export function quickJsModules(): QuickJsModules | undefined {
  const scope = globalThis as { std?: QuickJsStd; os?: QuickJsOs; scriptArgs?: readonly string[] };
  if (scope.std === undefined || scope.os === undefined) return undefined;
  return { std: scope.std, os: scope.os, words: scope.scriptArgs?.slice(1) ?? [] };
}
