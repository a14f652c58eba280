// Take a broken version out.
import { someOf } from '../../../domain/value/summarize-list.ts';
import { destructiveTarget } from '../../input/destructive-target.ts';
import { untoldLines } from '../../output/unsynced-galleries.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { type CommandSpec, destructiveFlags, isSet, requiredText, text } from '../../spec/command.ts';

interface Use {
  readonly pool: string;
  readonly nodes: number;
  readonly names: readonly string[];
  /** The command that changes what the pool starts nodes from. */
  readonly change?: string;
}

export const command: CommandSpec = {
  summary: 'Withdraw a broken version, and list the nodes that run it',
  details:
    'Channels that point at the version go back to their last good version, and pools that follow them start new nodes from it. A channel without an earlier good version becomes empty; pools that follow it keep their model and are listed first, with the command that changes it. The command waits for no gallery: galleries get the previous version afterwards. A channel is resolved once, shown, and confirmed; --yes needs --expect then. `imago image restore` undoes a withdrawal. With --replace: nodes are not drained first, so their pods stop without being evicted.',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' }],
  flags: {
    reason: { what: 'why; kept for ever', value: 'TEXT', required: true },
    descendants: { what: 'everything made from it too' },
    at: { what: 'from this time on, e.g. 2027-02-28 or 2027-02-28T10:00:00Z', value: 'TIME' },
    replace: { what: 'replace the nodes that run it, one at a time, without draining them' },
    ...destructiveFlags('IMAGE is this version', 'VERSION'),
    ...operationFlags,
  },
  examples: [
    ['imago image withdraw node:1.34.2 --reason "kubelet crashes" --dry-run', 'what would happen'],
    [
      'imago image withdraw node:1.34.2 --reason "CVE-2026-1" --descendants --replace --yes',
      'all of it, now',
    ],
    [
      'imago image withdraw node:production --expect 1.34.2 --reason "kubelet crashes" --yes',
      'the version in production, if it is 1.34.2',
    ],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const path = await destructiveTarget(invocation, client);
    const at = text(invocation, 'at');
    await runOperation(invocation, {
      endpoint: 'withdrawVersion',
      input: {
        path,
        body: {
          reason: requiredText(invocation, 'reason'),
          descendants: isSet(invocation, 'descendants'),
          replace: isSet(invocation, 'replace'),
          ...(at === undefined ? {} : { at }),
        },
      },
      irreversible: true,
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => linesOf(result),
    });
  },
};

/** For people; JSON has all of it. */
export function linesOf(result: Record<string, unknown>): readonly string[] {
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
    result.nodes === 0 ? 'No node runs it.' : `${result.nodes} nodes run it still:`,
    ...pools
      .filter(({ nodes }) => nodes > 0)
      .map(({ pool, nodes, names }) => `  pool ${pool}: ${nodes} (${someOf(names)})`),
    ...untoldLines(result),
  ];
}
