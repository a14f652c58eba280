// Take a broken version out.
import { someOf } from '../../../domain/value/summarize-list.ts';
import { exactVersion } from '../../input/exact-version.ts';
import { untoldLines } from '../../output/unsynced-galleries.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, requiredText, text, yesFlag } from '../../spec/command.ts';

interface Use {
  readonly pool: string;
  readonly nodes: number;
  readonly names: readonly string[];
}

export const command: CommandSpec = {
  summary: 'Take a broken version out of use, and say which nodes run it',
  details:
    'New nodes stop using it at once, and channels that point at it go back to the last good version. It is refused when a channel has none. It waits for no gallery: those that stand for such a channel get that version afterwards, where they lack it. `imago image restore` takes it back.',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' }],
  flags: {
    reason: { what: 'why; kept for ever', value: 'TEXT', required: true },
    descendants: { what: 'everything made from it too' },
    at: { what: 'from this time on, e.g. 2027-02-28 or 2027-02-28T10:00:00Z', value: 'TIME' },
    replace: { what: 'replace the nodes that run it, one at a time, until none is left' },
    ...yesFlag,
    ...operationFlags,
  },
  examples: [
    ['imago image withdraw node:1.34.2 --reason "kubelet crashes" --dry-run', 'what would happen'],
    [
      'imago image withdraw node:1.34.2 --reason "CVE-2026-1" --descendants --replace --yes',
      'all of it, now',
    ],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
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
      irreversible: isSet(invocation, 'replace'),
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
    ...channels,
    result.nodes === 0 ? 'No node runs it.' : `${result.nodes} nodes run it still:`,
    ...pools
      .filter(({ nodes }) => nodes > 0)
      .map(({ pool, nodes, names }) => `  pool ${pool}: ${nodes} (${someOf(names)})`),
    ...untoldLines(result),
  ];
}
