// A file system for tests: a tar archive, made into ext4 by mke2fs with the features that a test asks for.
import { join } from 'node:path';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';

export interface Ext4ImageOptions {
  readonly megabytes?: number;
  readonly blockSize?: number;
  /** For `mke2fs -O`, in addition to those of ext4. */
  readonly features?: string;
  /** More arguments for mke2fs. */
  readonly more?: readonly string[];
}

/** The path of the new file system, which is `name` in `folder`. */
export async function makeExt4Image(
  folder: string,
  name: string,
  items: readonly TarItem[],
  options: Ext4ImageOptions = {},
): Promise<string> {
  const path = join(folder, name);
  const { megabytes = 64, blockSize = 4096, features = '', more = [] } = options;
  const args = ['-q', '-F', '-t', 'ext4', '-b', String(blockSize), '-I', '256', ...more];
  const wanted = ['none', 'has_journal', 'ext_attr', 'dir_index', 'filetype', 'extent', 'flex_bg', features];
  await runTool(
    await requireTool('mke2fs'),
    [
      ...args,
      '-O',
      wanted.filter((word) => word !== '').join(','),
      '-J',
      'size=4',
      '-d',
      '-',
      path,
      `${megabytes}M`,
    ],
    { stdin: writeTar(items), env: { SOURCE_DATE_EPOCH: '1750000000' } },
  );
  return path;
}

export async function debugfs(path: string, ...commands: readonly string[]): Promise<string> {
  const tool = await requireTool('debugfs');
  let output = '';
  for (const command of commands) output += (await runTool(tool, ['-R', command, path])).stdout.toString();
  return output;
}

const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');

/** One of everything that a root file system has: links, holes, many names, attributes, devices, odd names. */
export function variedItems(manyFiles = 1500): TarItem[] {
  const holes = Buffer.alloc(366 * 8192);
  for (let at = 0; at < holes.length; at += 8192) holes.fill(`block ${at} `, at + 4096, at + 8192);
  return [
    { entry: tarEntry('', { type: 'directory' }) },
    { entry: tarEntry('etc', { type: 'directory' }) },
    tarFile('etc/empty', ''),
    tarFile('etc/one', 'x', { mode: 0o4751, uid: 70_000, gid: 70_001, mtime: 1_600_000_001 }),
    tarFile('etc/words', 'word '.repeat(30)),
    {
      entry: tarEntry('etc/hard', {
        type: 'hardlink',
        link: 'etc/one',
        mode: 0o4751,
        uid: 70_000,
        gid: 70_001,
        mtime: 1_600_000_001,
      }),
    },
    { entry: tarEntry('etc/short', { type: 'symlink', link: '../usr' }) },
    { entry: tarEntry('etc/long', { type: 'symlink', link: `/${'l'.repeat(200)}` }) },
    { entry: tarEntry('etc/sixty', { type: 'symlink', link: 's'.repeat(60) }) },
    { entry: tarEntry('dev', { type: 'directory' }) },
    { entry: tarEntry('dev/null', { type: 'character', mode: 0o666, device: { major: 1, minor: 3 } }) },
    { entry: tarEntry('dev/disk', { type: 'block', mode: 0o660, device: { major: 259, minor: 300 } }) },
    { entry: tarEntry('dev/pipe', { type: 'fifo' }) },
    { entry: tarEntry('usr', { type: 'directory', mode: 0o1777 }) },
    tarFile('usr/big', Buffer.alloc(2_500_001, 'big ')),
    tarFile('usr/holes', holes),
    tarFile('usr/ping', 'ping', { xattrs: new Map([['security.capability', capability]]) }),
    tarFile('usr/labels', 'labels'),
    tarFile('usr/ä-漢-\\-"', 'odd'),
    { entry: tarEntry('many', { type: 'directory' }) },
    ...Array.from({ length: manyFiles }, (_, index) =>
      tarFile(`many/file-with-a-rather-long-name-${index}`, `content ${index}`),
    ),
  ];
}
