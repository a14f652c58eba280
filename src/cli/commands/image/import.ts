// Imports a disk file as a candidate version.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Client } from '../../../api/client/client.ts';
import type { InputOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import {
  type DiskFormat,
  diskFileFormat,
  diskSector,
  requirePartitionTable,
} from '../../../domain/image/disk-file.ts';
import { parseNumber } from '../../../domain/image/version-number.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { checkName } from '../../../domain/value/name.ts';
import { readText } from '../../input/read-text.ts';
import { createProgress } from '../../output/progress.ts';
import { printPlan, requestOf, runOperation } from '../../run/run-command.ts';
import {
  argument,
  type CommandSpec,
  dryRunFlag,
  type Invocation,
  isSet,
  operationFlags,
  requiredText,
  text,
} from '../../spec/command.ts';
import { versionFlags } from './copy.ts';

type Body = InputOf<'importImage'>['body'];

export const command: CommandSpec = {
  details:
    'Accepts raw, VHD (fixed or dynamic), and qcow2 disks; the format is detected. Release notes and SBOM are read from the disk; with the lock that a Windows disk was built from, they also say how the two differ. Invalid input is refused before the disk is sent.',
  args: [{ name: 'FILE', description: 'Disk file', completes: 'file', field: false }],
  flags: {
    name: {
      description: 'Image to add the version to',
      value: 'NAME',
      required: true,
      completes: 'image',
      field: 'image',
    },
    os: {
      description: 'Operating system (default: linux, or that of the lock)',
      value: 'OS',
      choices: ['linux', 'windows'],
    },
    ...versionFlags,
    kubernetes: { description: 'Kubernetes version on the disk', value: 'VERSION' },
    lock: {
      description: 'Lock that a Windows disk was built from, to compare it with',
      value: 'FILE',
      completes: 'file',
      field: false,
    },
    ...dryRunFlag,
    'no-wait': operationFlags['no-wait'],
  },
  examples: [
    ['imago image import marketplace.vhd --name base', 'Import a disk of another pipeline'],
    [
      'imago image import windows.vhd --name windows-node --lock windows.lock',
      'Import a Windows disk, and compare it with its lock',
    ],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const name = checkName('image', requiredText(invocation, 'name'));
    const number = text(invocation, 'version');
    if (number !== undefined) parseNumber(number);
    const { size, format } = await inspectDisk(file);
    const lockFile = text(invocation, 'lock');
    const lock = lockFile === undefined ? undefined : await readText(lockFile);
    const more = () => ({ file: basename(file), lock });
    const { body } = await requestOf(invocation, 'importImage', { ...command, more });
    const client = await invocation.client();
    const checked = await client.plan('importImage', { body: body as Body });
    if (isSet(invocation, 'dry-run')) {
      const plan = [
        `Send ${formatBytes(size)} of ${file}, a ${format} disk, to the daemon.`,
        ...checked.plan,
      ];
      return printPlan(invocation, { ...checked, plan }, name);
    }
    const upload = await send(invocation, client, file, size);
    await runOperation(invocation, 'importImage', {
      more: () => ({ ...body, upload }),
      done: ({ image, version, reused, unread, digest }) => [
        `${image}:${version} ${reused ? 'already exists: it is the same disk' : 'imported as a candidate'}`,
        ...(unread === undefined ? [] : [`Its operating system could not be read: ${unread}`]),
        `digest ${digest}`,
      ],
    });
  },
};

/** Refuses a file that is not a disk before it is sent. */
async function inspectDisk(file: string): Promise<{ readonly size: number; readonly format: DiskFormat }> {
  const handle = await open(file).catch((cause: unknown) => {
    throw cannotOpen(file, cause);
  });
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new ImagoError('file-missing', `${file} is not a file.`);
    const { size } = found;
    const length = Math.min(diskSector, size);
    const [start, end] = [Buffer.alloc(length), Buffer.alloc(length)];
    await handle.read(start, 0, length, 0);
    await handle.read(end, 0, length, size - length);
    const format = diskFileFormat({ size, start, end });
    if (format === 'raw' || format === 'vhd-fixed') requirePartitionTable(start);
    return { size, format };
  } finally {
    await handle.close();
  }
}

function cannotOpen(file: string, cause: unknown): ImagoError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return new ImagoError('file-missing', `File ${file} not found.`, { cause });
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ImagoError('file-missing', `Cannot read ${file}: ${reason}`, { cause });
}

async function send(invocation: Invocation, client: Client, file: string, size: number): Promise<string> {
  const view = createProgress(invocation.out, process.stderr, () => performance.now());
  async function* content() {
    let done = 0;
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
      done += (chunk as Buffer).length;
      view.update('upload', done, size, `${formatBytes(done)} of ${formatBytes(size)}`);
      yield chunk as Buffer;
    }
  }
  try {
    return (await client.upload('uploadDisk', content(), { signal: invocation.signal })).id;
  } finally {
    view.end();
  }
}
