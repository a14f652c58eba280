// A version's disk as a file.
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { InputOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { findVersion, imageArgument } from '../../input/find-version.ts';
import { createProgress } from '../../output/progress.ts';
import { writeSparse } from '../../output/write-sparse.ts';
import { argument, type CommandSpec, isSet, text } from '../../spec/command.ts';

type Format = NonNullable<InputOf<'exportVersion'>['query']>['format'];

export const command: CommandSpec = {
  summary: "Write a version's disk to a file",
  details: 'Every byte is checked on the way. The file is whole or not there, and belongs to you.',
  args: [imageArgument, { name: 'FILE', what: 'where to write it', completes: 'file' }],
  flags: {
    format: {
      what: 'the format of the file (default: by its ending; vhd is a fixed one, as Azure wants it)',
      value: 'FORMAT',
      choices: ['vhd', 'vhd-dynamic', 'raw', 'qcow2'],
    },
    force: { what: 'replace a file that is there' },
    'dry-run': { what: 'say what would be done, and do nothing' },
  },
  examples: [
    ['imago image export node:production node.vhd', 'for an upload to Azure'],
    ['imago image export node:staging node.qcow2', 'to start it by hand'],
    ['imago image export node:staging /dev/shm/disk --format raw', 'whatever the file is called'],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const there = await stat(file).catch(() => undefined);
    if (there?.isDirectory()) throw new ImagoError('file-exists', `${file} is a folder.`);
    if (there !== undefined && !isSet(invocation, 'force')) {
      throw new ImagoError('file-exists', `${file} exists already.`, { hint: 'Replace it with --force.' });
    }
    const format = (text(invocation, 'format') ?? formatOf(file)) as NonNullable<Format>;
    const client = await invocation.client();
    const path = await findVersion(client, argument(invocation, 'IMAGE'));
    if (isSet(invocation, 'dry-run')) {
      const { sizeBytes } = await client.call('showVersion', { path });
      const what = `the disk of ${path.image}:${path.version}, ${formatBytes(sizeBytes)}`;
      const plan = [`${there === undefined ? 'Write' : 'Replace'} ${file} as ${format}: ${what}.`];
      invocation.out.thing({ dryRun: true, plan }, file, () => [
        'Would do, and nothing was written:',
        ...plan.map((line) => `  ${line}`),
      ]);
      return;
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

const endings: Readonly<Record<string, string>> = {
  '.vhd': 'vhd',
  '.raw': 'raw',
  '.img': 'raw',
  '.qcow2': 'qcow2',
};

/** Never a format that the file's name denies. */
function formatOf(file: string): string {
  const found = endings[extname(file).toLowerCase()];
  if (found !== undefined) return found;
  throw new ImagoError('usage-invalid', `The name ${file} does not say which format is wanted.`, {
    hint: `Call it ${Object.keys(endings).join(', ')}, or name the format with --format.`,
  });
}
