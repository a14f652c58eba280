// What a node said on its boot console.
import { argument, type CommandSpec, isSet, readCount, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show the boot console of a node',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  flags: {
    lines: { what: 'how many of the last lines (100)', value: 'N', short: 'n' },
    follow: { what: 'go on as the node writes, until it ends', short: 'f' },
  },
  examples: [
    ['imago node console web-0', 'its last lines'],
    ['imago node console web-0 --follow', 'watch it start'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const path = { node: argument(invocation, 'NODE') };
    const lines = text(invocation, 'lines') === undefined ? 100 : readCount(invocation, 'lines');
    if (!isSet(invocation, 'follow')) {
      const shown = await client.call('readConsole', { path, query: { lines } });
      invocation.out.thing(shown, shown.node, () => shown.lines);
      return;
    }
    const { signal } = invocation;
    const { content } = await client.download('followConsole', { path, query: { lines } }, { signal });
    for await (const chunk of content) process.stdout.write(chunk);
  },
};
