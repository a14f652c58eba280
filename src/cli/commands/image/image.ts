// Commands for images and their versions.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { describeFreshness, type Freshness, securityUpdates } from '../../../domain/evidence/freshness.ts';
import { compareComposed } from '../../../domain/evidence/tested-combination.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { formatDuration } from '../../../domain/value/duration.ts';
import {
  exactDescription,
  findVersion,
  recordArgument,
  referenceArgument,
  referenceDescription,
  versionArgument,
} from '../../input/find-version.ts';
import { describeSignatures, type Signature } from '../../output/describe.ts';
import { table } from '../../output/table.ts';
import { group, list, operation, show, subject, write } from '../../run/builders.ts';
import { printRecord, type RecordKind } from '../../run/print-record.ts';
import type { Request } from '../../spec/call.ts';
import {
  argument,
  type CommandSpec,
  type FlagSpecs,
  type Invocation,
  isSet,
  pageFlags,
  reasonFlag,
  text,
} from '../../spec/command.ts';
import { publish, pull, push } from './copy.ts';
import { cost } from './cost.ts';
import { ancestors, descendants, nodes } from './lineage.ts';
import { restore, withdraw, withdrawals } from './withdraw.ts';

const fileFlag: FlagSpecs = {
  file: {
    description: 'Write it to a file, byte for byte as it is attached',
    value: 'FILE',
    completes: 'file',
  },
};
const comparedArguments = [
  { name: 'BEFORE', description: referenceDescription, completes: 'image' },
  { name: 'AFTER', description: referenceDescription, completes: 'image' },
] as const;

const listed = {
  summary: 'List images, or the versions of an image',
  args: [{ name: 'IMAGE', description: 'Name of the image', optional: true, completes: 'image' }],
  flags: pageFlags,
  examples: [
    ['imago image list', 'List all images'],
    ['imago image list node -o name', 'List the versions of one image, newest first, for a script'],
  ],
} as const;

const images = list('listImages', {
  ...listed,
  columns: [
    'name',
    'os',
    ['arch', 'architecture'],
    'numbering',
    ['simulated', ({ simulated }) => simulated && 'simulated'],
    ['created', 'createdAt'],
  ],
});

const versions = list('listVersions', {
  ...listed,
  columns: [
    'version',
    'state',
    'kubernetes',
    ['origin', ({ origin }) => origin.kind],
    ['simulated', ({ simulated }) => simulated && 'simulated'],
    ['size', ({ sizeBytes }) => formatBytes(sizeBytes)],
    ['digest', ({ digest }) => digest.slice(0, 19)],
    ['created', 'createdAt'],
  ],
});

const compare: CommandSpec = {
  summary: 'Compare the environments that two versions were tested in',
  details:
    "Compares Imago's version, recipe, lock, agent, node config, and Kubernetes. For files on the disk, see `image diff`.",
  args: comparedArguments,
  examples: [['imago image compare node:production node:staging', 'Show what a promotion would change']],
  async run(invocation) {
    const before = await latestEnvironment(invocation, argument(invocation, 'BEFORE'));
    const after = await latestEnvironment(invocation, argument(invocation, 'AFTER'));
    const differences = compareComposed(before, after);
    invocation.out.thing({ before, after, differences }, after.id, () =>
      differences.length === 0
        ? ['They were tested in the same environment.']
        : differences.map((one) => `${one.part}: ${one.before ?? 'none'} → ${one.after ?? 'none'}`),
    );
  },
};

async function latestEnvironment(invocation: Invocation, reference: string) {
  const client = await invocation.client();
  const path = await findVersion(client, reference);
  const [latest] = (await client.call('listComposed', { path })).items;
  if (latest !== undefined) return latest;
  throw new ImagoError('version-untested', `${path.image}:${path.version} has not been tested.`);
}

function outdatedLines(found: Freshness, { style }: Invocation['out']): readonly string[] {
  const now = Date.now();
  const rows = [...securityUpdates(found), ...found.behind.filter(({ security }) => !security)];
  const age = ({ since }: (typeof rows)[number]) =>
    since === undefined ? 'unknown' : formatDuration(now - Date.parse(since));
  const columns = {
    name: ({ name }: (typeof rows)[number]) => name,
    current: ({ current }: (typeof rows)[number]) => current,
    newest: ({ newest }: (typeof rows)[number]) => newest,
    security: ({ security }: (typeof rows)[number]) => (security ? 'yes' : ''),
    'missing for': age,
  };
  return [
    ...(rows.length === 0 ? [] : [...table(rows, columns, style), '']),
    `${describeFreshness(found, now)} (${found.suite}, index of ${found.indexedAt})`,
    ...(found.unlisted.length === 0 ? [] : [`Not in the archive: ${found.unlisted.join(', ')}`]),
  ];
}

function versionName({ path }: Request): string {
  return `${path?.image}:${path?.version}`;
}

/** Prints a record that is attached to a version. */
function record(
  texts: Omit<CommandSpec, 'args' | 'run'>,
  kind: (invocation: Invocation) => RecordKind,
): CommandSpec {
  return {
    ...texts,
    args: [versionArgument],
    flags: { ...texts.flags, ...fileFlag },
    run: (invocation) => printRecord(invocation, kind(invocation)),
  };
}

export const command = group({
  list: {
    ...listed,
    run: (invocation: Invocation) =>
      (invocation.args.IMAGE === undefined ? images : versions).run(invocation),
  },
  show: subject('Show a version with its support dates, signatures, and evidence', () => import('./show.ts')),
  ancestors,
  cost,
  descendants,
  nodes,
  withdraw,
  restore,
  withdrawals,
  hold: write('holdVersion', {
    summary: 'Protect a version from deletion',
    args: [{ ...recordArgument, description: exactDescription }],
    flags: reasonFlag,
    examples: [['imago image hold node:1.34.2 --reason "audit 2026"', 'Exclude it from pruning']],
    done: ({ image, version, reason }) => `${image}:${version} is held: ${reason}`,
  }),
  unhold: write('releaseVersion', {
    summary: 'Remove the hold from a version',
    args: [{ ...recordArgument, description: 'NAME:VERSION or NAME@sha256:DIGEST' }],
    examples: [['imago image unhold node:1.34.2', 'Let the retention rules apply again']],
    done: ({ image, version }) => `${image}:${version} is no longer held`,
  }),
  notes: record(
    {
      summary: 'Print the release notes of a version',
      details:
        'They are generated from the sealed disk: its contents, and the changes since the previous version.',
      examples: [
        ['imago image notes node:staging', 'Print them as Markdown'],
        ['imago image notes node:staging --json', 'Print them for a script'],
      ],
    },
    ({ out }) => (out.isDocument ? 'notes' : 'notes-markdown'),
  ),
  diff: show('diffVersions', {
    summary: 'Compare the contents of two versions',
    details: 'Compares packages, files, units, settings, sizes, and container images, read from the disks.',
    args: [
      { ...comparedArguments[0], expand: versionArgument.expand },
      { ...comparedArguments[1], field: 'to' },
    ],
    examples: [
      ['imago image diff node:production node:staging', 'Show what the next promotion would change'],
    ],
    name: ({ after }) => after,
    value: ({ text: _, ...diff }) => diff,
    lines: ({ text: shown }) => [shown.trimEnd()],
  }),
  sbom: record(
    {
      summary: 'Print the software bill of materials (SBOM) of a version',
      details: 'Lists packages, files, and container images, read from the sealed disk. Always JSON.',
      flags: {
        format: {
          description: 'SBOM format (default: cyclonedx)',
          value: 'FORMAT',
          choices: ['cyclonedx', 'spdx'],
        },
      },
      examples: [
        ['imago image sbom node:production --format spdx --file node.spdx.json', 'Save it for an auditor'],
      ],
    },
    (invocation) => (text(invocation, 'format') === 'spdx' ? 'spdx' : 'cyclonedx'),
  ),
  provenance: record(
    {
      summary: 'Print the signed provenance of a version',
      details:
        'Prints an in-toto statement (SLSA v1) with every input and its sha256, if a trusted key signed it.',
      examples: [['imago image provenance node:production', 'Show the inputs and the builder']],
    },
    () => 'provenance',
  ),
  outdated: operation('findOutdatedPackages', {
    summary: 'List the packages of a version that are behind their archive',
    details:
      'Compares the packages on the sealed disk with the signed index of their archive; nothing is booted. Security updates come first. The result is stored as evidence for the gate `fresh`, and shown by `image show` and `pool show`.',
    args: [referenceArgument],
    examples: [
      ['imago image outdated node:production', 'Show what nodes lack when they start'],
      ['imago image outdated web-prototype:2026.1115.0 --json', 'Check a captured version'],
    ],
    done: (result, { out }) => outdatedLines(result as unknown as Freshness, out),
  }),
  verify: operation('verifyImage', {
    summary: 'Verify the integrity of a version and repair damaged data',
    details:
      'Reports damage by blob, chunk, and position on the disk. Repairs it from a registry that has a copy, or by rebuilding the disk from its lock. Also verifies the stored lock and inputs, and repairs inputs from the build cache or their source. Data without the right digest is never used.',
    args: [referenceArgument],
    flags: {
      'no-repair': { description: 'Verify only; do not repair', field: false },
      registry: { description: 'Registry that has a copy', value: 'HOST/REPOSITORY' },
      'require-signature': { description: 'Fail if no trusted key signed it' },
    },
    examples: [
      ['imago image verify node:production --require-signature', 'Check that it is intact and signed'],
    ],
    more: (invocation) => ({ repair: !isSet(invocation, 'no-repair') }),
    done: ({ image, version, healed, bytesRead, signatures, ignored }) => [
      ...(healed as readonly string[]).map((line) => `repaired ${line}`),
      `${image}:${version} is intact: ${formatBytes(Number(bytesRead))} read`,
      ...describeSignatures([...(signatures as readonly Signature[]), ...(ignored as readonly Signature[])]),
    ],
  }),
  attest: subject('Attach a scan report to a version as evidence', () => import('./attest.ts')),
  approve: write('approveVersion', {
    summary: 'Approve or reject a version for a channel',
    details:
      'The approval is recorded for the owner of the token: set IMAGO_TOKEN. Your latest decision applies.',
    args: [versionArgument],
    flags: {
      to: {
        description: 'Target channel',
        value: 'CHANNEL',
        required: true,
        completes: 'channel',
        field: 'channel',
      },
      reject: { description: 'Reject the version, or withdraw your approval', field: false },
      reason: { description: 'Reason for the decision', value: 'TEXT', field: 'why' },
    },
    examples: [['imago image approve node:staging --to production', 'Approve the version in staging']],
    more: (invocation) => ({ approve: !isSet(invocation, 'reject') }),
    name: ({ id }) => String(id),
    done: ({ summary, by }, { request }) => `${versionName(request)}: ${summary} (${by})`,
  }),
  compare,
  sign: write('signVersion', {
    summary: 'Sign a version with the active key',
    details: 'Builds are signed automatically. Use this for unsigned versions, or after a key was revoked.',
    args: [versionArgument],
    examples: [['imago image sign node:production', 'Sign it again after a key was revoked']],
    name: (_, { request }) => versionName(request),
    value: (signature, { request }) => ({ ...request.path, ...signature }),
    done: ({ key }, { request }) => `${versionName(request)} is signed by key ${key}`,
  }),
  export: subject('Export a version to a disk file', () => import('./export.ts')),
  import: subject('Import a disk file as a candidate version', () => import('./import.ts')),
  inspect: subject('Show what is on a disk file', () => import('./inspect.ts')),
  publish,
  push,
  pull,
});
