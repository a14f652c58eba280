// Makes a prototype from a node of a pool, or explains which nodes can be captured.
import type { ResponseOf } from '../../api/contract/types.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import { table } from '../output/table.ts';
import { runOperation, runShow, runWrite } from '../run/run-command.ts';
import {
  argument,
  type CommandSpec,
  type FlagSpecs,
  type Invocation,
  isSet,
  operationFlags,
  readNumber,
  text,
  texts,
} from '../spec/command.ts';

const args = [{ name: 'POOL', description: 'Name of the pool', completes: 'pool' }] as const;

const donorFlags: FlagSpecs = {
  node: {
    description: 'Node to capture (default: the best candidate)',
    value: 'NODE',
    completes: 'node',
  },
  'min-ready': { description: 'Minimum time that the node has been ready (default: 1h)', value: 'DURATION' },
  unpatched: { description: 'Also consider nodes without newer patches' },
};

const captureFlags: FlagSpecs = {
  ...donorFlags,
  force: { description: 'Evict pods without a controller, which nothing creates again' },
  'delete-emptydir-data': { description: 'Evict pods that lose the data of an emptyDir volume' },
  'no-drain': { description: 'Do not drain the node: its pods stop without being evicted' },
  'drain-timeout': { description: 'Limit for the drain (default: 30m)', value: 'DURATION' },
  'ready-timeout': {
    description: 'Time that the node can take to be ready again (default: 15m)',
    value: 'DURATION',
  },
  keep: { description: 'Number of newest prototypes to keep (default: 3)', value: 'N', read: readNumber },
};

export const command: CommandSpec = {
  details:
    'The node is drained, stopped, copied, and started again; it is cordoned only until it is ready. The copy is cleaned and scanned without booting it, sealed as a version of POOL-prototype, and tested on two fresh machines. If it passes the gates of the channel for captured versions, new nodes are created from it until the channel moves on. Existing nodes do not change.',
  args,
  flags: {
    ...captureFlags,
    explain: { description: 'Show every rule for every node, and capture nothing', field: false },
    every: {
      description: 'Run on a schedule instead of now (cron expression, 5 or 6 fields)',
      value: 'CRON',
      field: false,
    },
    'time-zone': {
      description: 'IANA time zone of --every (default: UTC)',
      value: 'ZONE',
      field: false,
    },
    window: {
      description: 'With --every: window in which it may start, such as "Sat 23:00-03:30 Europe/Paris"',
      value: 'WINDOW',
      repeated: true,
      field: false,
    },
    'when-outdated': {
      description: 'With --every: only if the packages of new nodes are behind their archive',
      field: false,
    },
    ...operationFlags,
  },
  examples: [
    ['imago capture web --explain', 'Show why each node is or is not a candidate'],
    ['imago capture web --dry-run', 'Show the node, the pods that move, and what blocks them'],
    ['imago capture web --node web-000003', 'Capture one node, if the rules allow it'],
    ["imago capture web --every '0 3 * * *' --time-zone Europe/Paris", 'Capture every night'],
  ],
  async run(invocation) {
    const cron = text(invocation, 'every');
    if (cron !== undefined) return schedule(invocation, cron);
    if (isSet(invocation, 'explain'))
      return runShow(invocation, 'explainCapture', {
        ...{ args, flags: donorFlags },
        name: ({ donor }) => donor ?? '',
        lines: explain,
      });
    await runOperation(invocation, 'capturePool', {
      ...{ args, flags: captureFlags },
      name: ({ image, version }) => `${image}:${version}`,
      done: ({ pool, node, image, version, awayMs, used }) => [
        `Captured node ${node} of pool ${pool} as ${image}:${version}; the node was away for ${formatDuration(Number(awayMs))}`,
        ...(used === true
          ? [`New nodes of pool ${pool} are created from it`]
          : [`New nodes of pool ${pool} are not created from it: see \`imago pool show ${pool}\``]),
      ],
    });
  },
};

function explain(choice: ResponseOf<'explainCapture'>, { out }: Invocation): readonly string[] {
  const rows = choice.nodes.flatMap(({ name, rules, score }, index) => [
    ...(index === 0 ? [] : ['']),
    `${name}: ${score === undefined ? 'not a candidate' : `score ${score.total} (ready ${score.ready}, patched ${score.patched}, pods ${score.pods})`}`,
    ...table(
      rules,
      {
        rule: ({ rule }) => rule,
        met: ({ isMet, rule }) =>
          isMet ? 'yes' : rule === 'patched' && choice.isPatchWaived ? 'waived' : 'no',
        value: ({ value }) => value,
      },
      out.style,
    ),
  ]);
  const { donor, refusal } = choice;
  const result = donor === undefined ? (refusal ?? 'No node is a candidate.') : `Node ${donor} is captured.`;
  return [...rows, ...(rows.length === 0 ? [] : ['']), result];
}

async function schedule(invocation: Invocation, cron: string): Promise<void> {
  const pool = argument(invocation, 'POOL');
  const name = `capture-${pool}`;
  const fields = Object.entries(captureFlags).flatMap(([flag, { read }]) => {
    const value = invocation.flags[flag];
    if (value === undefined) return [];
    const field = flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [[field, typeof value === 'string' && read ? read(value, flag) : value] as const];
  });
  await runWrite(invocation, 'createSchedule', {
    more: () => ({
      ...{ name, cron, timeZone: text(invocation, 'time-zone') },
      ...{ kind: 'capture-scheduled', subject: `pool/${pool}` },
      input: {
        ...{ name: pool, ...Object.fromEntries(fields) },
        ...{ windows: texts(invocation, 'window'), whenOutdated: isSet(invocation, 'when-outdated') },
      },
    }),
    done: ({ nextAt }) => `Schedule ${name} captures pool ${pool} next at ${nextAt}`,
  });
}
