// NTFS volumes for tests, made by ntfs-3g's and wimlib's tools from nothing: no mount, no loop device, no root.
import { link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from '../../src/host/process/run-tool.ts';
import type { ToolName } from '../../src/host/tools/packages.ts';
import { requireTool } from '../../src/host/tools/tools.ts';

export interface NtfsItems {
  /** Content by path; a path that ends with a slash is an empty folder. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Other names of files. */
  readonly hardLinks?: Readonly<Record<string, string>>;
  readonly symlinks?: Readonly<Record<string, string>>;
  /** Named streams, by `path:name`, and with a number as the name other attributes. */
  readonly streams?: Readonly<Record<string, string | Uint8Array>>;
}

export interface NtfsOptions {
  readonly megabytes?: number;
  readonly firstSector?: number;
  readonly clusterBytes?: number;
  /** Called with the volume while it is empty. */
  readonly prepare?: (path: string) => Promise<void>;
}

export async function runWindowsTool(name: ToolName, args: readonly string[]): Promise<string> {
  return (await runTool(await requireTool(name), args, {})).stdout.toString('utf8');
}

/** Makes a volume in `path`, a new file. */
export async function makeNtfs(path: string, items: NtfsItems, options: NtfsOptions = {}): Promise<void> {
  const work = await mkdtemp(`${path}-`);
  try {
    const tree = join(work, 'tree');
    await mkdir(tree);
    for (const [name, content] of Object.entries(items.files)) {
      const place = join(tree, name);
      await mkdir(name.endsWith('/') ? place : dirname(place), { recursive: true });
      if (!name.endsWith('/')) await writeFile(place, content);
    }
    for (const [name, to] of Object.entries(items.hardLinks ?? {}))
      await link(join(tree, to), join(tree, name));
    for (const [name, to] of Object.entries(items.symlinks ?? {})) await symlink(to, join(tree, name));
    await fillNtfs(path, tree, join(work, 't.wim'), options);
    for (const [name, content] of Object.entries(items.streams ?? {})) {
      const [file = '', stream = ''] = name.split(':');
      const from = join(work, 'stream');
      await writeFile(from, content);
      const how = /^0x/.test(stream) ? ['-a', stream] : ['-N', stream];
      await runWindowsTool('ntfscp', ['-q', ...how, path, from, file]);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Makes a volume that holds a whole folder. */
export async function fillNtfs(
  path: string,
  tree: string,
  archive: string,
  { megabytes = 24, firstSector = 2048, clusterBytes = 4096, prepare }: NtfsOptions = {},
): Promise<void> {
  await writeFile(path, '');
  await truncate(path, megabytes * 1024 * 1024);
  const geometry = ['-s', '512', '-p', String(firstSector), '-H', '255', '-S', '63'];
  await runWindowsTool('mkntfs', [
    ...['-F', '-Q', '-q', '-L', 'Windows', '-c', String(clusterBytes), ...geometry, path],
  ]);
  await prepare?.(path);
  // Else it leaves out files that hold memory, and the recycle bin.
  await writeFile(`${archive}.ini`, '[ExclusionList]\n');
  await runWindowsTool('wimlib-imagex', [
    ...['capture', tree, archive, 'windows', '--compress=none', '--no-acls', '--quiet'],
    `--config=${archive}.ini`,
  ]);
  await runWindowsTool('wimlib-imagex', ['apply', archive, '1', path, '--quiet']);
}
