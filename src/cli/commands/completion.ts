// Completion for the shell.

import { completionScripts } from '../completion/completion-scripts.ts';
import { argument, type CommandSpec } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Print the completion script for bash, zsh or fish',
  args: [{ name: 'SHELL', what: 'bash, zsh or fish' }],
  examples: [
    ['source <(imago completion bash)', 'in this shell'],
    ['imago completion fish > ~/.config/fish/completions/imago.fish', 'for good'],
  ],
  async run(invocation) {
    const shell = argument(invocation, 'SHELL');
    if (!Object.hasOwn(completionScripts, shell))
      throw usage(`SHELL is bash, zsh or fish, not ${JSON.stringify(shell)}.`, 'completion');
    process.stdout.write(completionScripts[shell as keyof typeof completionScripts]);
  },
};
