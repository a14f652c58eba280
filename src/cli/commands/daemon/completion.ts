// Generates shell completion scripts.

import { completionScripts } from '../../completion/completion-scripts.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  args: [{ name: 'SHELL', description: 'bash, zsh, or fish' }],
  examples: [
    ['source <(imago completion bash)', 'Load it in the current shell'],
    ['imago completion fish > ~/.config/fish/completions/imago.fish', 'Install it permanently'],
  ],
  async run(invocation) {
    const shell = argument(invocation, 'SHELL');
    if (!Object.hasOwn(completionScripts, shell))
      throw usage(`SHELL must be bash, zsh, or fish, not ${JSON.stringify(shell)}.`, 'completion');
    process.stdout.write(completionScripts[shell as keyof typeof completionScripts]);
  },
};
