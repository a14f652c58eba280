// Shows what is on a disk file, without the daemon.
import { runInspector } from '../../../launcher/inspector.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'Reads a raw, VHD, VHDX, or qcow2 disk of Linux or Windows on this host: system, build, updates, features, services, programs, settings, container images. Of a Windows disk it also lists identities and secrets that a sealed image must not hold. Needs no daemon, and changes nothing.',
  args: [{ name: 'FILE', description: 'Disk file', completes: 'file' }],
  flags: {
    files: { description: 'List every file with its sha256 in the JSON output; reads the whole disk' },
    'allow-unclean': { description: 'Read a disk that was not shut down cleanly, without its last changes' },
  },
  examples: [
    ['imago image inspect windows.vhd', 'Show what is on a Windows disk'],
    ['imago image inspect node.qcow2 --json --files', 'List all files of a disk for a script'],
  ],
  async run(invocation) {
    const words = ['files', 'allow-unclean'].filter((name) => isSet(invocation, name));
    const file = argument(invocation, 'FILE');
    const found = await runInspector(
      file,
      words.map((name) => `--${name}`),
      invocation.signal,
    );
    const { text, ...data } = found;
    invocation.out.thing(data, found.inventory.os, () => text.trimEnd().split('\n'));
  },
};
