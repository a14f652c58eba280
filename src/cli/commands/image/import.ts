// A disk that others made becomes a version.
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
import { numberingPolicies } from '../../../domain/image/numbering.ts';
import { architectures } from '../../../domain/image/version.ts';
import { parseNumber } from '../../../domain/image/version-number.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { checkName } from '../../../domain/value/name.ts';
import { readText } from '../../input/read-text.ts';
import { createProgress } from '../../output/progress.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import {
  argument,
  type CommandSpec,
  type Invocation,
  isSet,
  requiredText,
  text,
} from '../../spec/command.ts';

type Body = InputOf<'importImage'>['body'];

export const command: CommandSpec = {
  summary: 'Make a candidate from a disk that others made',
  details:
    'Raw, VHD (fixed or dynamic) or qcow2: the format is found out. Notes and SBOM are read from a disk of Linux; ' +
    'one of Windows is not read, and is described by the lock that it was built from. What would be refused is refused ' +
    'before a byte of the disk is sent.',
  args: [{ name: 'FILE', what: 'the disk', completes: 'file' }],
  flags: {
    name: {
      what: 'the image that it becomes a version of',
      value: 'NAME',
      required: true,
      completes: 'image',
    },
    version: { what: 'its number (default: the next one by the policy)', value: 'N.N.N' },
    os: {
      what: 'the system on it (default: linux, or as the lock says)',
      value: 'OS',
      choices: ['linux', 'windows'],
    },
    architecture: {
      what: 'the processor it is for (default: x64, or as the lock says)',
      value: 'ARCH',
      choices: architectures,
    },
    numbering: {
      what: 'how a new image is numbered (default: semver, or as the lock says)',
      value: 'POLICY',
      choices: numberingPolicies,
    },
    kubernetes: { what: 'the Kubernetes version on it', value: 'VERSION' },
    lock: {
      what: 'for a disk of Windows: the lock that it was built from, which its notes are made from',
      value: 'FILE',
      completes: 'file',
    },
    'dry-run': { what: 'look at the file, and do nothing' },
    'no-wait': operationFlags['no-wait'],
  },
  examples: [
    ['imago image import marketplace.vhd --name base', 'take a disk of another pipeline in'],
    [
      'imago image import windows.vhd --name windows-node --lock windows.lock',
      'with notes, SBOM and differences',
    ],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const name = checkName('image', requiredText(invocation, 'name'));
    const number = text(invocation, 'version');
    if (number !== undefined) parseNumber(number);
    const { size, format } = await lookAt(file);
    const lockFile = text(invocation, 'lock');
    const described = {
      ...{ image: name, file: basename(file) },
      ...chosen(invocation),
      ...(lockFile === undefined ? {} : { lock: await readText(lockFile) }),
    } as Body;
    const client = await invocation.client();
    const checked = await client.plan('importImage', { body: described });
    if (isSet(invocation, 'dry-run')) {
      const plan = [
        `Send ${formatBytes(size)} of ${file}, a ${format} disk, to the daemon.`,
        ...checked.plan,
      ];
      invocation.out.thing({ ...checked, plan }, name, () => [
        'Would do, and nothing was written:',
        ...plan.map((line) => `  ${line}`),
      ]);
      return;
    }
    const body = { ...described, upload: await send(invocation, client, file, size) };
    await runOperation(invocation, {
      endpoint: 'importImage',
      input: { body },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        `${result.image}:${result.version} ${result.reused ? 'exists already: it is the same disk' : 'imported as a candidate'}`,
        ...(result.unread === undefined ? [] : [`Its system could not be read: ${result.unread}`]),
        `digest ${result.digest}`,
      ],
    });
  },
};

/** What is no disk is refused before a byte of it is sent. */
async function lookAt(file: string): Promise<{ readonly size: number; readonly format: DiskFormat }> {
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
  if (code === 'ENOENT') return new ImagoError('file-missing', `There is no file ${file}.`, { cause });
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ImagoError('file-missing', `${file} cannot be read: ${why}`, { cause });
}

function chosen(invocation: Invocation): Partial<Record<string, string>> {
  const names = ['version', 'os', 'architecture', 'numbering', 'kubernetes'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = text(invocation, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function send(invocation: Invocation, client: Client, file: string, size: number): Promise<string> {
  const view = createProgress(invocation.out, process.stderr, () => performance.now());
  async function* content() {
    let done = 0;
    for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
      done += (piece as Buffer).length;
      view.update('upload', done, size, `${formatBytes(done)} of ${formatBytes(size)}`);
      yield piece as Buffer;
    }
  }
  try {
    return (await client.upload('uploadDisk', content(), { signal: invocation.signal })).id;
  } finally {
    view.end();
  }
}
