// Make a pool.

import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import {
  argument,
  type CommandSpec,
  isSet,
  readCount,
  requiredText,
  text,
  texts,
} from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Make a pool from a version or a channel',
  details:
    'The model holds an exact version. A pool that was given a channel follows it for new nodes; --pin stops that.',
  args: [{ name: 'POOL', what: 'the name of the pool' }],
  flags: {
    image: {
      what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
      value: 'IMAGE',
      required: true,
      completes: 'image',
    },
    nodes: { what: 'how many nodes', value: 'N', required: true },
    size: { what: "machine size in the provider's words", value: 'SIZE' },
    provider: { what: 'where', value: 'NAME' },
    region: { what: 'the region, where the provider has them', value: 'REGION' },
    orchestration: { what: 'how nodes are managed', value: 'MODE', choices: ['uniform', 'flexible'] },
    'node-config': {
      what: 'what its nodes are told to be, YAML or JSON',
      value: 'FILE',
      completes: 'file',
    },
    forward: {
      what: 'a port of the nodes to reach from this computer, or HOST:PORT to choose where; again for more',
      value: 'PORT',
      repeated: true,
    },
    pin: { what: 'do not follow the channel' },
    ...operationFlags,
  },
  examples: [
    ['imago pool create web --image node:production --nodes 3', 'three nodes that follow production'],
    ['imago pool create web --image node:production --nodes 3 --dry-run', 'what would be done'],
    [
      'imago pool create web --image node:production --nodes 2 --forward 22 --forward 8080:80',
      'port 80 of the first node is port 8080 here, that of the second 8081; `imago node show` tells the one for ssh',
    ],
  ],
  async run(invocation) {
    const optional = (flag: string) => {
      const value = text(invocation, flag);
      return value === undefined ? {} : { [flag]: value };
    };
    const forwards = texts(invocation, 'forward');
    const configFile = text(invocation, 'node-config');
    const stored = { unknown: 'refuse', secrets: 'named' } as const;
    const config = configFile === undefined ? undefined : await readNodeConfigFile(configFile, stored);
    await runOperation(invocation, {
      endpoint: 'createPool',
      input: {
        body: {
          name: argument(invocation, 'POOL'),
          reference: requiredText(invocation, 'image'),
          capacity: readCount(invocation, 'nodes'),
          pin: isSet(invocation, 'pin'),
          ...optional('size'),
          ...optional('provider'),
          ...optional('region'),
          ...optional('orchestration'),
          ...(config === undefined ? {} : { nodeConfig: config.document }),
          ...(forwards.length === 0 ? {} : { forwards: [...forwards] }),
        },
      },
      name: (result) => String(result.name),
      lines: (result) => [
        `Pool ${result.name} has ${result.nodes} nodes of ${result.image}:${result.version}`,
      ],
    });
  },
};
