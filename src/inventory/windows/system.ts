// A Windows system on a disk that does not run: its files, and the hives of its registry.
import type { ByteSource } from '../../disk/bytes/byte-source.ts';
import { readPartitions } from '../../disk/gpt/partitions.ts';
import { type NtfsReader, openNtfs } from '../../disk/ntfs/reader.ts';
import { isNtfs } from '../../disk/ntfs/volume.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type HiveKey, openHive } from './registry-hive/hive.ts';

export interface WindowsSystem {
  readonly files: NtfsReader;
  readonly software: HiveKey;
  readonly system: HiveKey;
  /** Absent on disks without accounts. */
  readonly sam: HiveKey | undefined;
  readonly security: HiveKey | undefined;
  /** The set of settings that the system starts with: `ControlSet001`. */
  readonly controlSet: string;
  /** A key by its full name, `HKLM\SYSTEM\CurrentControlSet\…`. */
  key(path: string): HiveKey | undefined;
  /** A value as text; empty when there is none. */
  text(path: string, name: string): string;
  number(path: string, name: string): number | undefined;
}

export interface OpenWindowsOptions {
  readonly allowUnclean?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const hives = '/Windows/System32/config';
const maxHive = 512 * 1024 * 1024;

/**
 * `undefined` when no partition holds a Windows. Throws as the readers do: `ntfs-encrypted` for BitLocker,
 * `ntfs-unclean` and `hive-unclean` for a machine that was not stopped cleanly, `ntfs-invalid` and `hive-invalid`.
 */
export async function openWindows(
  disk: ByteSource,
  options: OpenWindowsOptions = {},
): Promise<WindowsSystem | undefined> {
  for (const { source } of await readPartitions(disk)) {
    if (!(await isNtfs(source))) continue;
    const files = await openNtfs(source, options);
    if ((await files.find(`${hives}/SOFTWARE`)) !== undefined) return readSystem(files);
  }
  return undefined;
}

async function readSystem(files: NtfsReader): Promise<WindowsSystem> {
  async function hive(name: string): Promise<HiveKey | undefined> {
    const entry = await files.find(`${hives}/${name}`);
    return entry === undefined ? undefined : openHive(await files.read(entry, maxHive));
  }
  const [software, system] = [await hive('SOFTWARE'), await hive('SYSTEM')];
  if (software === undefined || system === undefined) {
    throw new ImagoError('inventory-invalid', 'The Windows on the disk has no registry.');
  }
  const controlSet = `ControlSet${String(system.key('Select')?.number('Current') ?? 1).padStart(3, '0')}`;

  function key(path: string): HiveKey | undefined {
    const match = /^HKLM:?\\(SOFTWARE|SYSTEM)\\(.+)$/i.exec(path);
    if (match === null) return undefined;
    const [, root = '', rest = ''] = match;
    if (root.toUpperCase() === 'SOFTWARE') return software?.key(rest);
    return system?.key(rest.replace(/^CurrentControlSet(?=\\|$)/i, controlSet));
  }

  return {
    ...{ files, software, system, controlSet, key },
    sam: await hive('SAM'),
    security: await hive('SECURITY'),
    text: (path, name) => key(path)?.text(name) ?? '',
    number: (path, name) => key(path)?.number(name),
  };
}
