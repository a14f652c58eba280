// A root shell on a node, as if one sat at its keyboard.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { endOfTyping, shellInput } from '../../input/shell-input.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Open a root shell on a node',
  details:
    'Leave it with Ctrl-], or by ending the shell. A node has one shell: what it did goes on after you left. Off a terminal, what comes from standard input is typed, and the shell is left at its end.',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  examples: [['imago node shell web-0', 'look around on a node']],
  async run(invocation) {
    if (invocation.out.format === 'json')
      throw new ImagoError('usage-invalid', 'A shell has no JSON form.', {
        hint: 'For one command and its result, see `imago test`.',
      });
    const client = await invocation.client();
    const node = argument(invocation, 'NODE');
    const { stdin, stdout } = process;
    const leaving = new AbortController();
    const source = shellInput(stdin, stdout, leaving.signal);
    const signal = invocation.signal;
    const output = await client.duplex('openShell', { path: { node } }, source, { signal });
    invocation.out.note(`You are on ${node}. Leave with Ctrl-].`);
    if (stdin.isTTY) stdin.setRawMode(true);
    try {
      for await (const chunk of output) stdout.write(chunk);
    } finally {
      if (stdin.isTTY) stdin.setRawMode(false);
      leaving.abort(endOfTyping);
      stdin.destroy();
    }
    invocation.out.note(`You left ${node}.`);
  },
};
