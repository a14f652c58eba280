// Commands for nodes.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { describeCommit } from '../../../domain/image/recipe-commit.ts';
import { timelineBar } from '../../../domain/node/timeline.ts';
import { parseDuration } from '../../../domain/value/duration.ts';
import { shellExited, shellInput } from '../../input/shell-input.ts';
import { keyValueLines, table } from '../../output/table.ts';
import { group, list, show, subject } from '../../run/builders.ts';
import {
  argument,
  type CommandSpec,
  dryRunFlag,
  type Invocation,
  isSet,
  pageFlags,
  readNumber,
  text,
} from '../../spec/command.ts';

const args = [{ name: 'NODE', description: 'Name of the node', completes: 'node' }] as const;
const barWidth = 40;

const console: CommandSpec = {
  summary: 'Print the boot console of a node',
  args,
  flags: {
    lines: { description: 'Number of lines to print from the end (default: 100)', value: 'N', short: 'n' },
    follow: { description: 'Stream new output until the node stops', short: 'f' },
  },
  examples: [
    ['imago node console web-0', 'Print the last lines'],
    ['imago node console web-0 --follow', 'Watch it boot'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const path = { node: argument(invocation, 'NODE') };
    const query = { lines: readNumber(text(invocation, 'lines') ?? '100', 'lines') };
    if (!isSet(invocation, 'follow')) {
      const shown = await client.call('readConsole', { path, query });
      invocation.out.thing(shown, shown.node, () => shown.lines);
      return;
    }
    const { signal } = invocation;
    const { content } = await client.download('followConsole', { path, query }, { signal });
    for await (const chunk of content) process.stdout.write(chunk);
  },
};

const shell: CommandSpec = {
  summary: 'Open a root shell on a node',
  details:
    'Leave it with Ctrl-], or by exiting the shell. A node has one shell: commands keep running after you leave. Without a terminal, standard input is typed into the shell, and its end leaves the shell.',
  args,
  examples: [['imago node shell web-0', 'Open a shell on a node']],
  async run(invocation) {
    if (invocation.out.isDocument)
      throw new ImagoError('usage-invalid', 'A shell does not support JSON output.', {
        hint: 'To run a single command and get its result, see `imago test`.',
      });
    const client = await invocation.client();
    const node = argument(invocation, 'NODE');
    const { stdin, stdout } = process;
    const leaving = new AbortController();
    const source = shellInput(stdin, stdout, leaving.signal);
    const { signal } = invocation;
    const output = await client.duplex('openShell', { path: { node } }, source, { signal });
    invocation.out.note(`Connected to ${node}. Leave with Ctrl-].`);
    if (stdin.isTTY) stdin.setRawMode(true);
    try {
      for await (const chunk of output) stdout.write(chunk);
    } finally {
      if (stdin.isTTY) stdin.setRawMode(false);
      leaving.abort(shellExited);
      stdin.destroy();
    }
    invocation.out.note(`Disconnected from ${node}.`);
  },
};

const exec: CommandSpec = {
  summary: 'Run a command on a node as root',
  details:
    'Prints its output and exits with its exit code, or with 124 if it exceeds --limit. No shell interprets the words: for pipes, run `sh -c`.',
  args: [...args, { name: 'COMMAND', description: 'Program and arguments', rest: true }],
  flags: {
    limit: { description: 'Time limit of the command (default: 1m, at most 1h)', value: 'TIME' },
    ...dryRunFlag,
  },
  examples: [
    ['imago node exec web-0 -- systemctl status kubelet', 'Run one program'],
    ["imago node exec web-0 -- sh -c 'journalctl -u kubelet | tail'", 'Run a script'],
  ],
  async run(invocation) {
    const ms = parseDuration(text(invocation, 'limit') ?? '1m');
    const path = { node: argument(invocation, 'NODE') };
    const request = { path, body: { command: [...invocation.rest], timeoutSeconds: ms / 1000 } };
    const { proceeds } = await import('../../run/run-command.ts');
    if (!(await proceeds(invocation, 'execOnNode', request))) return;
    const client = await invocation.client();
    const options = { signal: invocation.signal, timeoutMs: ms + 120_000 };
    const result = await client.call('execOnNode', request, options);
    process.exitCode = result.exitCode;
    if (invocation.out.isDocument) return invocation.out.thing(result, path.node, () => []);
    process.stdout.write(result.stdout);
    process.stderr.write(result.stderr);
    if (result.truncated) invocation.out.note('The output exceeded the limit and is truncated.');
  },
};

export const command = group({
  list: list('listNodes', {
    summary: 'List nodes',
    flags: {
      pool: { description: 'List only nodes of this pool', value: 'POOL', completes: 'pool' },
      ...pageFlags,
    },
    examples: [
      ['imago node list --pool web', 'List the nodes of one pool'],
      ['imago node list -o name', 'Print only names, for a script'],
    ],
    columns: [
      'name',
      'pool',
      'provider',
      'power',
      'state',
      'schedulable',
      ['image', ({ image, version }) => `${image}:${version}`],
      'reference',
    ],
  }),
  show: show('showNode', {
    summary: 'Show a node, including a deleted one',
    args,
    examples: [['imago node show web-0', 'Show one node']],
    lines: ({ forwards, error, ...node }) =>
      keyValueLines({
        ...node,
        ports: forwards?.map(({ guestPort, hostPort }) => `127.0.0.1:${hostPort} to ${guestPort}`),
        error: error && `${error.message} (${error.code})`,
      }),
  }),
  which: show('whichNode', {
    summary: 'Show which version a node was created from, and which channel move selected it',
    args,
    flags: { at: { description: 'Show the node that had this name at this time', value: 'TIME' } },
    examples: [['imago node which web-0', 'Show what `latest` was when the node was created']],
    name: ({ image, digest }) => `${image}@${digest}`,
    lines: ({ moved, versionState, goneAt, source, ...created }) =>
      keyValueLines({
        ...created,
        moved: moved && `${moved.at} by ${moved.by}: ${moved.why}`,
        'version state': versionState,
        recipe: source && `at ${describeCommit(source)}`,
        deleted: goneAt,
      }),
  }),
  config: subject('Manage node configs', () => import('./config.ts')),
  console,
  timeline: show('showTimeline', {
    summary: 'Show the boot timeline of a node',
    args,
    examples: [
      ['imago node timeline web-0', 'Show the duration of each phase'],
      ['imago node timeline web-0 --json', 'Print it for a script'],
    ],
    name: ({ node }) => node,
    lines: timelineLines,
  }),
  shell,
  exec,
});

function timelineLines(
  { node, phase, readyMs, entries }: ResponseOf<'showTimeline'>,
  { out }: Invocation,
): readonly string[] {
  const total = Math.max(...entries.map(({ startMs, durationMs }) => startMs + durationMs), 1);
  const rows = table(
    entries,
    {
      phase: ({ kind, name }) => (kind === 'step' ? `  ${name}` : name),
      at: ({ startMs }) => seconds(startMs),
      took: ({ durationMs }) => seconds(durationMs),
      state: ({ state }) => state,
      time: (entry) => timelineBar(entry, total, barWidth),
    },
    out.style,
  );
  return [
    ...rows,
    readyMs === undefined ? `${node} is ${phase}.` : `${node} was ready after ${seconds(readyMs)}.`,
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
