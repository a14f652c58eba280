// Commands for pools.
import type { ResponseOf } from '../../api/contract/types.ts';
import { describeFreshness } from '../../domain/evidence/freshness.ts';
import { drainsFirst } from '../../domain/pool/pool.ts';
import { exactDescription } from '../input/find-version.ts';
import { readNodeConfigFile } from '../input/read-node-config-file.ts';
import { keyValueLines } from '../output/table.ts';
import { group, list, operation, show } from '../run/builders.ts';
import {
  argument,
  expectFlag,
  type FlagSpecs,
  type Invocation,
  pageFlags,
  readNumber,
  requiredText,
  text,
} from '../spec/command.ts';

const poolArgument = { name: 'POOL', description: 'Name of the pool', completes: 'pool' } as const;

const imageFlags: FlagSpecs = {
  image: {
    description: exactDescription,
    value: 'IMAGE',
    required: true,
    completes: 'image',
    field: 'reference',
  },
};
const pinFlag: FlagSpecs = { pin: { description: 'Do not follow the channel' } };
const nodesFlag: FlagSpecs = {
  nodes: { description: 'Number of nodes', value: 'N', required: true, field: 'capacity', read: readNumber },
};

/** Removing nodes is confirmed for the number of nodes that the pool has now. */
async function nodesToRemoveFrom(invocation: Invocation): Promise<number | undefined> {
  const client = await invocation.client();
  const { capacity } = await client.call('showPool', { path: { pool: argument(invocation, 'POOL') } });
  const removes = capacity !== undefined && readNumber(requiredText(invocation, 'nodes'), 'nodes') < capacity;
  return removes ? capacity : undefined;
}

export const command = group({
  create: operation('createPool', {
    summary: 'Create a pool from a version or channel',
    details:
      'The model of the pool has an exact version. A pool created from a channel follows it for new nodes, unless you pass --pin.',
    args: [{ name: 'NAME', description: 'Name of the pool' }],
    flags: {
      ...imageFlags,
      ...nodesFlag,
      size: { description: 'Provider-specific machine size', value: 'SIZE' },
      provider: { description: 'Provider that hosts the pool', value: 'NAME' },
      region: { description: 'Region, if the provider has several', value: 'REGION' },
      orchestration: { description: 'Orchestration mode', value: 'MODE', choices: ['uniform', 'flexible'] },
      'node-config': {
        description: 'Node config of the pool, YAML or JSON',
        value: 'FILE',
        completes: 'file',
        field: false,
      },
      cluster: {
        description: 'Kubernetes cluster that the nodes belong to (simulated pools: sim)',
        value: 'NAME',
      },
      forward: {
        description: 'Node port to forward to this host, as PORT or HOST_PORT:PORT',
        value: 'PORT',
        repeated: true,
        field: 'forwards',
      },
      ...pinFlag,
    },
    examples: [
      [
        'imago pool create web --image node:production --nodes 3',
        'Create three nodes that follow production',
      ],
      ['imago pool create web --image node:production --nodes 3 --dry-run', 'Preview the pool'],
      [
        'imago pool create web --image node:production --nodes 2 --forward 22 --forward 8080:80',
        'Forward port 8080 to port 80 of the first node, and 8081 to the second; `imago node show` lists the ports for ssh',
      ],
    ],
    more: readConfig,
    done: ({ name, nodes, image, version }) => `Pool ${name} has ${nodes} nodes of ${image}:${version}`,
  }),
  list: list('listPools', {
    summary: 'List pools',
    flags: pageFlags,
    examples: [['imago pool list', 'List all pools']],
    columns: [
      'name',
      'provider',
      ['nodes', 'capacity'],
      'state',
      ['image', ({ image, version }) => `${image}:${version}`],
      'follows',
    ],
  }),
  show: show('showPool', {
    summary: 'Show a pool',
    args: [poolArgument],
    examples: [['imago pool show web', 'Show its model, and the channel that it follows']],
    lines: (pool) =>
      keyValueLines({
        ...{ name: pool.name, provider: pool.provider, region: pool.region, state: pool.state },
        ...{ nodes: pool.capacity, size: pool.size, reference: pool.reference, follows: pool.follows },
        ...{ image: `${pool.image}:${pool.version}`, why: describeModel(pool) },
        ...{ digest: pool.digest, move: pool.move },
        ...{
          cluster: pool.cluster,
          forwards: pool.forwards,
          behind: describeLag(pool),
          packages: pool.freshness && describeFreshness(pool.freshness, Date.now()),
          created: pool.createdAt,
        },
      }),
  }),
  scale: operation('scalePool', {
    summary: 'Set the number of nodes in a pool',
    details: `Removing nodes requires confirmation. ${drainsFirst}`,
    args: [poolArgument],
    flags: { ...nodesFlag, ...expectFlag('the pool has this many nodes now', 'N', readNumber) },
    irreversible: async (invocation) => (await nodesToRemoveFrom(invocation)) !== undefined,
    examples: [['imago pool scale web --nodes 5', 'Set the pool to five nodes']],
    more: async (invocation) =>
      text(invocation, 'expect') === undefined ? { expect: await nodesToRemoveFrom(invocation) } : {},
    done: ({ name, nodes }) => `Pool ${name} has ${nodes} nodes`,
  }),
  'set-image': operation('setPoolImage', {
    summary: 'Set the image of new nodes in a pool',
    details: 'Existing nodes do not change; a rollout moves them.',
    args: [poolArgument],
    flags: { ...imageFlags, ...pinFlag },
    examples: [['imago pool set-image web --image node:1.34.2', 'Create new nodes from one exact version']],
    done: ({ name, image, version }) => `New nodes of pool ${name} are created from ${image}:${version}`,
  }),
});

async function readConfig(invocation: Invocation) {
  const file = text(invocation, 'node-config');
  if (file === undefined) return {};
  return { nodeConfig: (await readNodeConfigFile(file, { unknown: 'refuse', secrets: 'named' })).document };
}

/** Which of the two new nodes use: the version of the channel, or the prototype that overlays it. */
function describeModel({ name, follows, base }: ResponseOf<'showPool'>): string | undefined {
  if (base !== undefined) return `it is a prototype that overlays ${base.image}:${base.version} (${follows})`;
  return follows && `it is the version of ${follows}: no usable prototype of pool ${name} descends from it`;
}

export function describeLag({
  behind,
  version,
}: Pick<ResponseOf<'showPool'>, 'behind' | 'version'>): string | undefined {
  if (behind === undefined) return undefined;
  const { days, versions, newest } = behind;
  if (newest === version) return '0 days: it has the newest version';
  if (versions === 0) return `its version is not available: the newest available version is ${newest}`;
  const newer = versions === 1 ? '1 version is' : `${versions} versions are`;
  return `${days === 1 ? '1 day' : `${days} days`}: ${newer} newer, the latest is ${newest}`;
}
