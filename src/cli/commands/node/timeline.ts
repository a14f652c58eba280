// How a node came up.
import { timelineBar } from '../../../domain/node/timeline.ts';
import { table } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

const BAR_WIDTH = 40;

export const command: CommandSpec = {
  summary: 'Show how a node came up, from being switched on to ready',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  examples: [
    ['imago node timeline web-0', 'what took how long'],
    ['imago node timeline web-0 --json', 'the same for programs'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const timeline = await client.call('showTimeline', { path: { node: argument(invocation, 'NODE') } });
    const { node, phase, readyMs, entries } = timeline;
    const total = Math.max(...entries.map(({ startMs, durationMs }) => startMs + durationMs), 1);
    const columns = {
      WHAT: ({ kind, name }: (typeof entries)[number]) => (kind === 'step' ? `  ${name}` : name),
      AT: ({ startMs }: (typeof entries)[number]) => seconds(startMs),
      TOOK: ({ durationMs }: (typeof entries)[number]) => seconds(durationMs),
      STATE: ({ state }: (typeof entries)[number]) => state,
      TIME: (entry: (typeof entries)[number]) => timelineBar(entry, total, BAR_WIDTH),
    };
    const end =
      readyMs === undefined ? `${node} is ${phase}.` : `${node} was ready after ${seconds(readyMs)}.`;
    invocation.out.thing(timeline, node, () => [...table(entries, columns, invocation.out.style), end]);
  },
};

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
