// Exports a version to a disk file.
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { InputOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { exportFormatNames } from '../../../domain/image/disk-file.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { findVersion, referenceArgument } from '../../input/find-version.ts';
import { createProgress } from '../../output/progress.ts';
import { writeSparse } from '../../output/write-sparse.ts';
import { printPlan } from '../../run/run-command.ts';
import { argument, type CommandSpec, dryRunFlag, isSet, text } from '../../spec/command.ts';

type Format = NonNullable<InputOf<'exportVersion'>['query']>['format'];

export const command: CommandSpec = {
  details: 'Every byte is verified. The file is complete or absent, and owned by you.',
  args: [referenceArgument, { name: 'FILE', description: 'Path of the disk file', completes: 'file' }],
  flags: {
    format: {
      description: 'Disk format (default: by the file extension; vhd is a fixed VHD, as Azure requires)',
      value: 'FORMAT',
      choices: exportFormatNames,
    },
    force: { description: 'Overwrite an existing file' },
    ...dryRunFlag,
  },
  examples: [
    ['imago image export node:production node.vhd', 'Export a disk to upload to Azure'],
    ['imago image export node:staging node.qcow2', 'Export a disk to boot by hand'],
    [
      'imago image export node:staging /dev/shm/disk --format raw',
      'Choose the format regardless of the file name',
    ],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const existing = await stat(file).catch(() => undefined);
    if (existing?.isDirectory()) throw new ImagoError('file-exists', `${file} is a directory.`);
    if (existing !== undefined && !isSet(invocation, 'force')) {
      throw new ImagoError('file-exists', `${file} already exists.`, {
        hint: 'Pass --force to overwrite it.',
      });
    }
    const format = (text(invocation, 'format') ?? formatOf(file)) as NonNullable<Format>;
    const client = await invocation.client();
    const path = await findVersion(client, argument(invocation, 'IMAGE'));
    if (isSet(invocation, 'dry-run')) {
      const { sizeBytes } = await client.call('showVersion', { path });
      const disk = `the disk of ${path.image}:${path.version}, ${formatBytes(sizeBytes)}`;
      const plan = [`${existing === undefined ? 'Write' : 'Overwrite'} ${file} as ${format}: ${disk}.`];
      return printPlan(invocation, { dryRun: true, plan }, file);
    }
    const { signal } = invocation;
    const view = createProgress(invocation.out, process.stderr, () => performance.now());
    try {
      const disk = await client.download('exportVersion', { path, query: { format } }, { signal });
      const total = disk.sizeBytes ?? 0;
      const bytes = await writeSparse(file, disk.content, {
        sizeBytes: disk.sizeBytes,
        onBytes: (done) =>
          view.update('export', done, total, `${formatBytes(done)} of ${formatBytes(total)}`),
      });
      view.end();
      invocation.out.thing({ ...path, file, format, bytes }, file, () => [
        `Wrote ${path.image}:${path.version} to ${file}: ${format}, ${formatBytes(bytes)}`,
      ]);
    } finally {
      view.end();
    }
  },
};

const extensions: Readonly<Record<string, string>> = {
  '.vhd': 'vhd',
  '.raw': 'raw',
  '.img': 'raw',
  '.qcow2': 'qcow2',
};

/** Returns the format of the file extension. */
function formatOf(file: string): string {
  const found = extensions[extname(file).toLowerCase()];
  if (found !== undefined) return found;
  throw new ImagoError('usage-invalid', `The file extension of ${file} is not a known disk format.`, {
    hint: `Use ${Object.keys(extensions).join(', ')}, or pass --format.`,
  });
}
