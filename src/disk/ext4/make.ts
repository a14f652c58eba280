// Makes an ext4 file system with a journal from a tar stream, inside of a disk file, through mke2fs.
// Nothing of the machine's configuration, clock or user gets into it: the same input, the same bytes.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { type Environment, requireTool } from '../../host/tools/tools.ts';
import { chooseShape, type Ext4Usage, ext4Block, fitsExt4, neededExt4Size } from './size.ts';

export interface Ext4Input {
  /** An existing file whose bytes from `offset` on are zero. */
  readonly path: string;
  readonly offset: number;
  readonly size: number;
  readonly uuid: string;
  /** Seeds the hashes of directory names. */
  readonly hashSeed: string;
  readonly label: string;
  readonly epoch: number;
  readonly usage: Ext4Usage;
  /** The content as a tar archive. */
  readonly content: AsyncIterable<Uint8Array>;
  /** For the settings of mke2fs. */
  readonly workFolder: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What must stay free on a new file system. */
export const ext4FreeBytes = 32 * 1024 * 1024;

const features = [
  'none',
  'has_journal',
  'ext_attr',
  'resize_inode',
  'dir_index',
  'filetype',
  'extent',
  '64bit',
  'flex_bg',
  'sparse_super',
  'large_file',
  'huge_file',
  'dir_nlink',
  'extra_isize',
  'metadata_csum',
];

/** Stands in for /etc/mke2fs.conf; the types that mke2fs guesses from the size must exist, and say nothing. */
const mke2fsSettings = `[defaults]
  default_mntopts = acl,user_xattr
  enable_periodic_fsck = 0
[fs_types]
${['ext4', 'floppy', 'small', 'default', 'big', 'huge'].map((type) => `  ${type} = {\n  }\n`).join('')}`;

/** Throws `disk-too-small`, with the size that it would need, when the content does not fit. */
export function requireExt4Fits(size: number, usage: Ext4Usage): void {
  if (fitsExt4(size, usage, ext4FreeBytes)) return;
  const needBytes = neededExt4Size(usage, ext4FreeBytes);
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  throw new ImagoError(
    'disk-too-small',
    `the root file system needs ${mebibytes(needBytes)} MiB, and there are ${mebibytes(size)}`,
    { details: { needBytes, haveBytes: size } },
  );
}

/** Makes the file system. Not to be called twice on one place: the bytes must be zero. */
export async function makeExt4(input: Ext4Input): Promise<void> {
  requireExt4Fits(input.size, input.usage);
  const { journalMiB, inodeRatio } = chooseShape(input.size, input.usage);
  const mke2fs = await requireTool('mke2fs', input.tools);
  const settings = join(input.workFolder, 'mke2fs.conf');
  await writeFile(settings, mke2fsSettings);
  const extended = [
    `offset=${input.offset}`,
    `hash_seed=${input.hashSeed}`,
    'root_owner=0:0',
    'lazy_itable_init=0',
    'lazy_journal_init=0',
    'assume_storage_prezeroed=1',
    'nodiscard',
  ];
  const args = [
    ['-q', '-F', '-t', 'ext4'],
    ['-b', String(ext4Block), '-I', '256', '-i', String(inodeRatio), '-G', '16', '-m', '1'],
    ['-J', `size=${journalMiB}`, '-O', features.join(','), '-e', 'remount-ro'],
    ['-L', input.label, '-U', input.uuid, '-E', extended.join(',')],
    ['-d', '-', input.path, `${Math.floor(input.size / ext4Block) * 4}k`],
  ].flat();
  await runTool(mke2fs, args, {
    stdin: input.content,
    signal: input.signal,
    env: { MKE2FS_CONFIG: settings, SOURCE_DATE_EPOCH: String(input.epoch), MKE2FS_DEVICE_SECTSIZE: '512' },
  });
}
