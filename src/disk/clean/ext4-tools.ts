// The programs of e2fsprogs, on one partition of a disk file. No mount and no root rights are needed: they open the
// file themselves, at an offset.
import { type FileHandle, open, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { type Environment, requireTool } from '../../host/tools/tools.ts';
import { readFully, writeFully } from '../bytes/byte-source.ts';

export interface Ext4Tools {
  /**
   * Replays the journal and repairs what is safe to repair. Throws `ext4-unclean` if a person would have to decide, and
   * changes nothing then.
   */
  replay(): Promise<void>;
  /**
   * Repairs everything, or only what needs no decision: then it throws `ext4-unclean` for the rest. A second call finds
   * nothing to repair. The journal must be empty.
   */
  repair(what: 'all' | 'safe'): Promise<void>;
  /** Frees the bytes of unused blocks, which read as zero afterwards. */
  discard(): Promise<void>;
  /** Throws `disk-clean-failed` if there is anything to repair. */
  requireIntact(): Promise<void>;
  /** Runs commands of debugfs. It reports no errors by its exit code: read back what it should have done. */
  change(commands: readonly string[]): Promise<void>;
}

export interface Ext4ToolsOptions {
  /** A directory of its own, in which `change` finds the files that its commands name. */
  readonly workFolder: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sums of: 1 repaired, 2 repaired and should reboot, 4 not repaired, 8 failed. */
const e2fsckResults = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12];

function requireRepaired(exitCode: number): void {
  if (exitCode >= 4) throw new ImagoError('ext4-unclean', 'the file system is damaged');
}

const windowSize = 1024 * 1024;

/** Writes only what differs, so that holes stay. */
async function copyChanged(
  from: FileHandle,
  fromOffset: number,
  to: FileHandle,
  toOffset: number,
  size: number,
): Promise<void> {
  for (let at = 0; at < size; at += windowSize) {
    const length = Math.min(windowSize, size - at);
    const bytes = await readFully(from, fromOffset + at, Buffer.allocUnsafe(length));
    const before = await readFully(to, toOffset + at, Buffer.allocUnsafe(length));
    if (!bytes.equals(before)) await writeFully(to, toOffset + at, bytes);
  }
}

/** The file system must start at `offset` of the file, and have `size` bytes. */
export async function openExt4Tools(
  path: string,
  { offset, size }: { readonly offset: number; readonly size: number },
  { workFolder, tools, signal }: Ext4ToolsOptions,
): Promise<Ext4Tools> {
  const e2fsck = await requireTool('e2fsck', tools);
  const debugfs = await requireTool('debugfs', tools);
  // The path of the disk can have a question mark, which separates a name from its options here.
  const name = `disk-${offset}`;
  await symlink(resolve(path), join(workFolder, name));
  const target = `${name}?offset=${offset}`;
  const run = { folder: workFolder, signal };

  return {
    async replay() {
      // Once e2fsck has replayed a journal, it opens the file again and forgets the offset: it gets a copy.
      const copy = join(workFolder, `copy-${offset}`);
      const [disk, file] = [await open(path, 'r+'), await open(copy, 'w+')];
      try {
        await file.truncate(size);
        await copyChanged(disk, offset, file, 0, size);
        const { exitCode } = await runTool(e2fsck, ['-f', '-p', copy], { ...run, accept: e2fsckResults });
        requireRepaired(exitCode);
        await copyChanged(file, 0, disk, offset, size);
      } finally {
        await disk.close();
        await file.close();
        await rm(copy, { force: true });
      }
    },
    async repair(what) {
      const args = ['-f', what === 'all' ? '-y' : '-p', target];
      requireRepaired((await runTool(e2fsck, args, { ...run, accept: e2fsckResults })).exitCode);
    },
    async discard() {
      await runTool(e2fsck, ['-f', '-y', '-E', 'discard', target], { ...run, accept: [0, 1] });
    },
    async requireIntact() {
      const { exitCode } = await runTool(e2fsck, ['-f', '-n', target], { ...run, accept: e2fsckResults });
      if (exitCode !== 0) throw new ImagoError('disk-clean-failed', 'the cleaned file system is not intact');
    },
    async change(commands) {
      if (commands.length === 0) return;
      const text = Buffer.from(commands.map((command) => `${command}\n`).join(''));
      await runTool(debugfs, ['-w', '-f', '-', target], {
        ...run,
        stdin: (async function* () {
          yield text;
        })(),
      });
    },
  };
}
