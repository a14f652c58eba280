// Check a node config.
import { neededAbilities } from '../../../domain/node-config/capabilities.ts';
import { secretNames } from '../../../domain/node-config/map-secrets.ts';
import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Check a node config, with line and column of every mistake',
  details: 'Needs no daemon. Secrets may stand in the file by their names, as `secret:NAME`.',
  args: [{ name: 'FILE', what: 'the node config, YAML or JSON', completes: 'file' }],
  examples: [['imago node config validate web.yaml', 'is it good, and what does it need of an image?']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const { config } = await readNodeConfigFile(file);
    const needs = [...new Set([...(config.requires ?? []), ...neededAbilities(config)])].toSorted();
    const secrets = secretNames(config);
    invocation.out.thing({ file, ok: true, needs, secrets }, file, () => [
      `${file} is a good node config`,
      ...(needs.length === 0 ? [] : [`It needs of the image: ${needs.join(', ')}`]),
      ...(secrets.length === 0 ? [] : [`It needs the secrets: ${secrets.join(', ')}`]),
    ]);
  },
};
