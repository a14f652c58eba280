// Commands that withdraw versions and restore them.
import { someOf } from '../../../domain/value/summarize-list.ts';
import { withdrawalTarget } from '../../input/destructive-target.ts';
import { exactArgument, recordArgument } from '../../input/find-version.ts';
import { unsyncedGalleryLines } from '../../output/describe.ts';
import { list, operation } from '../../run/builders.ts';
import type { Result } from '../../spec/call.ts';
import { expectFlag, pageFlags, reasonFlag } from '../../spec/command.ts';

interface Use {
  readonly pool: string;
  readonly nodes: number;
  readonly names: readonly string[];
  /** The command that changes the image of the pool. */
  readonly change?: string;
}

export const withdraw = operation('withdrawVersion', {
  summary: 'Withdraw a broken version and roll back the channels that point to it',
  details:
    'Channels that point to the version return to their last good version, and pools that follow them create new nodes from it. A channel without an earlier good version becomes empty; pools that follow it keep their model and are listed first, with the command that changes it. The command waits for no gallery: galleries get the previous version afterwards. A channel is resolved once, shown, and confirmed; --yes then requires --expect. `imago image restore` undoes a withdrawal. With --replace, nodes are drained first if their pool belongs to a cluster.',
  args: [{ ...exactArgument, expand: withdrawalTarget }],
  flags: {
    ...reasonFlag,
    descendants: { description: 'Also withdraw every version derived from it' },
    at: {
      description: 'Time of the withdrawal, for example 2027-02-28 or 2027-02-28T10:00:00Z',
      value: 'TIME',
    },
    replace: { description: 'Replace all affected nodes, one at a time, without draining them' },
    expect: { ...expectFlag('IMAGE is this version', 'VERSION').expect, field: false },
  },
  irreversible: true,
  examples: [
    ['imago image withdraw node:1.34.2 --reason "kubelet crashes" --dry-run', 'Preview a withdrawal'],
    [
      'imago image withdraw node:1.34.2 --reason "CVE-2026-1" --descendants --replace --yes',
      'Withdraw everything derived from it, and replace the nodes',
    ],
    [
      'imago image withdraw node:production --expect 1.34.2 --reason "kubelet crashes" --yes',
      'Withdraw the version in production, if it is 1.34.2',
    ],
  ],
  done: withdrawalLines,
});

/** Describes the result; JSON has all of it. */
export function withdrawalLines(result: Result): readonly string[] {
  if (result.planned === true) {
    return [`${result.image}:${result.version} will be withdrawn at ${result.effectiveAt}`];
  }
  const versions = result.versions as readonly string[];
  const channels = result.channels as readonly string[];
  const pools = result.pools as readonly Use[];
  return [
    `Withdrawn: ${versions.join(', ')}`,
    ...pools.flatMap(({ pool, change }) =>
      change === undefined
        ? []
        : [`Pool ${pool} still starts nodes from a withdrawn version. Change it with \`${change}\`.`],
    ),
    ...channels,
    result.nodes === 0 ? 'No node runs it.' : `${result.nodes} nodes still run it:`,
    ...pools
      .filter(({ nodes }) => nodes > 0)
      .map(({ pool, nodes, names }) => `  pool ${pool}: ${nodes} (${someOf(names)})`),
    ...unsyncedGalleryLines(result),
  ];
}

export const restore = operation('restoreVersion', {
  summary: 'Cancel a withdrawal, including a scheduled one',
  details:
    'The version returns to its previous state. Channels do not move: move them with `imago channel promote`.',
  args: [{ ...recordArgument, description: 'NAME:VERSION or NAME@sha256:DIGEST' }],
  flags: { reason: { ...reasonFlag.reason, field: 'why' } },
  examples: [['imago image restore node:1.34.2 --reason "the switch was broken"', 'Make it usable again']],
  done: (result) => [
    `${result.image}:${result.version} is ${result.state}`,
    ...(result.left as readonly Left[]).map(
      ({ image, channel, now }) =>
        `${image}:${channel} ${now === null ? 'is empty' : `stays at ${now}`}; move it with \`imago channel promote ${image}:${result.version} --to ${channel}\``,
    ),
  ],
});

interface Left {
  readonly image: string;
  readonly channel: string;
  readonly now: string | null;
}

export const withdrawals = list('listWithdrawals', {
  summary: 'List withdrawals and the number of nodes still affected',
  args: [{ name: 'IMAGE', description: 'Name of the image', optional: true, completes: 'image' }],
  flags: pageFlags,
  examples: [['imago image withdrawals', 'Check whether withdrawn versions are still running']],
  columns: [
    ['version', ({ image, version }) => `${image}:${version}`],
    ['state', ({ appliedAt, liftedAt }) => withdrawalState(appliedAt, liftedAt)],
    ['from', 'effectiveAt'],
    'versions',
    'nodes',
    'by',
    'reason',
  ],
  name: ({ image, version }) => `${image}:${version}`,
});

function withdrawalState(appliedAt: string | undefined, liftedAt: string | undefined): string {
  if (liftedAt !== undefined) return 'restored';
  return appliedAt === undefined ? 'scheduled' : 'active';
}
