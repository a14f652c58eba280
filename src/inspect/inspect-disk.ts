// What is on a disk file of any format, Linux or Windows, for people and for scripts.
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type ByteSource, openFileSource, readBytes } from '../disk/bytes/byte-source.ts';
import { detectDiskFormat } from '../disk/convert/convert.ts';
import { openVhd } from '../disk/vhd/reader.ts';
import { withWorkFolder } from '../host/files/work-folder.ts';
import { runTool } from '../host/process/run-tool.ts';
import { requireTool } from '../host/tools/tools.ts';
import type { Inventory } from '../inventory/model/inventory.ts';
import { makeReleaseNotes } from '../inventory/notes/release-notes.ts';
import { renderReleaseNotes } from '../inventory/notes/render.ts';
import { readInventory } from '../inventory/read-inventory.ts';

export interface InspectOptions {
  /** Lists every file with its sha256, which reads the whole disk. */
  readonly files: boolean;
  /** Reads the disk of a machine that was not stopped cleanly as it is. */
  readonly allowUnclean: boolean;
  readonly signal: AbortSignal;
}

export interface InspectedDisk {
  readonly file: string;
  readonly format: string;
  readonly fileCount: number;
  /** Without files, unless they were asked for. */
  readonly inventory: Inventory;
  /** The same for people, as Markdown. */
  readonly text: string;
}

/** Changes nothing. Throws as the readers do: `vhd-invalid`, `gpt-invalid`, `ntfs-encrypted`, `hive-unclean`, …. */
export async function inspectDisk(file: string, options: InspectOptions): Promise<InspectedDisk> {
  const source = await openFileSource(file);
  try {
    const isVhdx = source.size > 8 && (await readBytes(source, 0, 8)).toString('latin1') === 'vhdxfile';
    const format = isVhdx ? 'vhdx' : await detectDiskFormat(source);
    if (format === 'vhdx' || format === 'qcow2') {
      return await withWorkFolder(tmpdir(), async (folder) => {
        const raw = join(folder, 'raw');
        const args = ['convert', '-f', format, '-O', 'raw', '--', resolve(file), raw];
        await runTool(await requireTool('qemu-img'), args, { signal: options.signal });
        const disk = await openFileSource(raw);
        try {
          return await describe(file, format, disk, options);
        } finally {
          await disk.close();
        }
      });
    }
    const disk = format === 'raw' ? source : (await openVhd(source)).disk;
    return await describe(file, format, disk, options);
  } finally {
    await source.close();
  }
}

async function describe(
  file: string,
  format: string,
  disk: ByteSource,
  { files, allowUnclean, signal }: InspectOptions,
): Promise<InspectedDisk> {
  const inventory = await readInventory(disk, { hash: files, allowUnclean, signal });
  const told = { image: basename(file), version: `(${format})`, digest: '', diskSha256: '', createdAt: '' };
  const text = renderReleaseNotes(makeReleaseNotes({ ...told, inventory }));
  const shown = files ? inventory : { ...inventory, files: [] };
  return { file, format, fileCount: inventory.files.length, inventory: shown, text };
}
