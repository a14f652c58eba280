// Commands for Azure.
import { runEmulator } from '../../launcher/emulator.ts';
import { group } from '../run/builders.ts';
import { type CommandSpec, isSet, readNumber, text } from '../spec/command.ts';

const emulate: CommandSpec = {
  summary: 'Run an Azure emulator on this host until it is stopped',
  details:
    'It answers like Azure Resource Manager: sign-in, resource groups, galleries, image definitions and versions. With --json it prints one line when it is ready: url, ca (a file), token, subscription and pid. Nothing is stored.',
  flags: {
    port: { description: 'Port on 127.0.0.1 (default: a free one)', value: 'PORT', read: readNumber },
    clock: { description: 'How many times faster than real time it runs', value: 'FACTOR', read: readNumber },
    'any-subscription': { description: 'Accept every subscription id' },
  },
  examples: [
    ['imago azure emulate --json', 'Run it, and print where it is as JSON'],
    ['imago azure emulate --clock 1000', 'Replicate versions in less than a second'],
  ],
  async run(invocation) {
    const valued = ['port', 'clock'].flatMap((name) => {
      const value = text(invocation, name);
      return value === undefined ? [] : [`--${name}`, value];
    });
    const switches = ['any-subscription', 'json'].filter((name) => isSet(invocation, name));
    await runEmulator([...valued, ...switches.map((name) => `--${name}`)], invocation.signal);
  },
};

export const command = group({ emulate });
