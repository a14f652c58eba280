// The system with QuickJS. Paths can be below a directory, for tests on another machine.
import {
  type FaultCode,
  type FileFacts,
  type FileMode,
  folderOf,
  type Release,
  type RunOptions,
  type System,
  SystemFault,
} from '../system/system.ts';
import { decodeUtf8, encodeUtf8 } from '../system/utf8.ts';
import type { QuickJsModules, QuickJsOs } from './modules.ts';
import { openPipe, runProcess } from './run-process.ts';

const faults: Readonly<Record<number, FaultCode>> = {
  2: 'ENOENT',
  1: 'EACCES',
  13: 'EACCES',
  17: 'EEXIST',
  20: 'ENOTDIR',
  21: 'EISDIR',
  28: 'ENOSPC',
  30: 'EROFS',
  122: 'ENOSPC',
};
/** The bits that a umask of 022 clears in the mode of a new file. */
const maskedBits = 0o022;
const permissionBits = 0o7777;

export function quickJsSystem(modules: QuickJsModules, root = ''): System {
  const { std, os } = modules;
  // A handler, and not "ignored": child processes would inherit that.
  os.signal(os.SIGPIPE, () => undefined);
  const at = (path: string) => `${root}${path}`;

  function check(result: number, path: string): number {
    if (result < 0) throw new SystemFault(faults[-result] ?? 'EIO', path);
    return result;
  }

  function makeFolder(path: string, as: FileMode = { mode: 0o755 }): void {
    const made = os.mkdir(at(path), as.mode);
    if (made === -17) return;
    if (made === -2 && path !== '/') {
      makeFolder(folderOf(path));
      check(os.mkdir(at(path), as.mode), path);
    } else check(made, path);
    settle(os, at(path), as);
  }

  function create(path: string, as: FileMode, fill: (fd: number) => void): void {
    const fd = check(
      os.open(at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, as.mode & permissionBits & ~maskedBits),
      path,
    );
    try {
      fill(fd);
      check(os.close(fd), path);
      settle(os, at(path), as);
    } catch (thrown) {
      os.close(fd);
      os.remove(at(path));
      throw thrown;
    }
  }

  function writeAll(fd: number, bytes: Uint8Array<ArrayBuffer>, path: string): void {
    let done = 0;
    while (done < bytes.length) {
      done += check(os.write(fd, bytes.buffer, done, bytes.length - done), path);
    }
  }

  return {
    readText(path) {
      const text = std.loadFile(at(path));
      // QuickJS relies on the size, which kernel files do not have.
      return text === null || text === '' ? readUnsized(os, at(path)) : text;
    },
    facts: (path) => factsOf(os, at(path)),
    list(path) {
      const [names, error] = os.readdir(at(path));
      return error === 0 ? names.filter((name) => name !== '.' && name !== '..').sort() : [];
    },
    readLink(path) {
      const [target, error] = os.readlink(at(path));
      return error === 0 ? target : undefined;
    },
    writeFile: (path, text, as) => create(path, as, (fd) => writeAll(fd, encodeUtf8(text), path)),
    copyFile(from, to, as) {
      const source = check(os.open(at(from), os.O_RDONLY), from);
      try {
        create(to, as, (fd) => {
          const buffer = new Uint8Array(1 << 17);
          for (;;) {
            const count = check(os.read(source, buffer.buffer, 0, buffer.length), from);
            if (count === 0) return;
            writeAll(fd, buffer.slice(0, count), to);
          }
        });
      } finally {
        os.close(source);
      }
    },
    makeFolder,
    makeLink: (path, target) => void check(os.symlink(target, at(path)), path),
    rename: (from, to) => void check(os.rename(at(from), at(to)), to),
    remove(path) {
      const result = os.remove(at(path));
      if (result !== -2 && result !== -20) check(result, path);
    },
    setKernelValue(path, value) {
      const fd = os.open(at(path), os.O_WRONLY);
      if (fd < 0) return false;
      const bytes = encodeUtf8(value);
      const written = os.write(fd, bytes.buffer, 0, bytes.length);
      os.close(fd);
      return written === bytes.length;
    },
    run: (command, options: RunOptions = {}) => runProcess(modules, command, options),
    lock: (path, waitMs) => holdLock(modules, at(path), waitMs),
    uptimeMs: () => Math.round(os.now()),
    clockMs: () => Date.now(),
    sleep: (ms) => new Promise((resolve) => os.setTimeout(() => resolve(), ms)),
    later(ms, work) {
      const timer = os.setTimeout(work, ms);
      return () => os.clearTimeout(timer);
    },
    log(line) {
      std.err.puts(`${line}\n`);
      std.err.flush();
    },
  };
}

/** Sets the owner first: a new owner clears the setuid bits. */
function settle(os: QuickJsOs, path: string, { mode, uid = 0, gid = 0 }: FileMode): void {
  const owned = uid !== 0 || gid !== 0;
  if (owned) runNow(os, ['chown', `${uid}:${gid}`, path], path);
  if ((mode & maskedBits) !== 0 || (owned && mode > 0o777)) {
    runNow(os, ['chmod', mode.toString(8), path], path);
  }
}

function runNow(os: QuickJsOs, command: readonly string[], path: string): void {
  if (os.exec(command, { block: true }) !== 0) throw new SystemFault('EACCES', path);
}

function factsOf(os: QuickJsOs, path: string): FileFacts | undefined {
  const [stat, error] = os.lstat(path);
  if (stat === null || error !== 0) return undefined;
  const type = stat.mode & os.S_IFMT;
  const kinds = { [os.S_IFREG]: 'file', [os.S_IFDIR]: 'folder', [os.S_IFLNK]: 'link' } as const;
  return {
    kind: kinds[type] ?? 'other',
    mode: stat.mode & permissionBits,
    uid: stat.uid,
    gid: stat.gid,
    size: stat.size,
    inode: stat.ino,
    changedMs: stat.ctime,
  };
}

function readUnsized(os: QuickJsOs, path: string): string | undefined {
  const fd = os.open(path, os.O_RDONLY);
  if (fd < 0) return undefined;
  const buffer = new Uint8Array(65_536);
  let size = 0;
  let count = 1;
  while (count > 0 && size < buffer.length) {
    count = os.read(fd, buffer.buffer, size, buffer.length - size);
    if (count > 0) size += count;
  }
  os.close(fd);
  return count < 0 ? undefined : decodeUtf8(buffer.subarray(0, size));
}

/**
 * `flock` becomes a `cat` that holds the lock, and echoes its input as soon as it does. It exits with our end of its pipe:
 * when we release the lock, or when this process exits in any way.
 */
async function holdLock({ os }: QuickJsModules, path: string, waitMs: number): Promise<Release | undefined> {
  const [input, output] = [openPipe(os), openPipe(os)];
  const wait = (waitMs / 1000).toFixed(1);
  const pid = os.exec(['flock', '--no-fork', '--wait', wait, path, 'cat'], {
    block: false,
    stdin: input.read,
    stdout: output.write,
  });
  os.close(input.read);
  os.close(output.write);
  os.write(input.write, new ArrayBuffer(1), 0, 1);
  const said = await new Promise<number>((resolve) => {
    os.setReadHandler(output.read, () => {
      os.setReadHandler(output.read, null);
      resolve(os.read(output.read, new ArrayBuffer(1), 0, 1));
    });
  });
  os.close(output.read);
  const release = () => {
    os.close(input.write);
    os.waitpid(pid, 0);
  };
  if (said > 0) return release;
  release();
  return undefined;
}
