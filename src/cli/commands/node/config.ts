// Commands for node configs.
import { createHash } from 'node:crypto';
import type { ResponseOf } from '../../../api/contract/types.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { neededAbilities } from '../../../domain/node-config/capabilities.ts';
import {
  costInWords,
  describeFields,
  type FieldDescription,
  findField,
} from '../../../domain/node-config/describe-fields.ts';
import { describeValue } from '../../../domain/node-config/describe-value.ts';
import { secretNames } from '../../../domain/node-config/map-secrets.ts';
import { highestCost, planChanges } from '../../../domain/node-config/plan-changes.ts';
import { maxUserDataBytes } from '../../../domain/node-config/read-node-config.ts';
import { renderNodeConfig } from '../../../domain/node-config/render.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import type { Output } from '../../output/output.ts';
import { keyValueLines, table } from '../../output/table.ts';
import { group, show, write } from '../../run/builders.ts';
import type { Result } from '../../spec/call.ts';
import {
  argument,
  type CommandSpec,
  type Invocation,
  operationFlags,
  text,
  texts,
} from '../../spec/command.ts';

const fileArgument = { name: 'FILE', description: 'Node config, YAML or JSON', completes: 'file' } as const;
const targetArgument = { name: 'TARGET', description: 'Pool or node', completes: 'pool' } as const;
const nodeArgument = { name: 'NODE', description: 'Name of the node', completes: 'node' } as const;

const validate: CommandSpec = {
  summary: 'Validate a node config file',
  details:
    'Reports the line and column of every error. Does not need a daemon. The file can reference secrets by name, as `secret:NAME`.',
  args: [fileArgument],
  examples: [['imago node config validate web.yaml', 'Check a config, and list what it needs from an image']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const { config } = await readNodeConfigFile(file);
    const needs = [...new Set([...(config.requires ?? []), ...neededAbilities(config)])].toSorted();
    const secrets = secretNames(config);
    invocation.out.thing({ file, ok: true, needs, secrets }, file, () => [
      `${file} is a valid node config`,
      ...(needs.length === 0 ? [] : [`Required image capabilities: ${needs.join(', ')}`]),
      ...(secrets.length === 0 ? [] : [`Required secrets: ${secrets.join(', ')}`]),
    ]);
  },
};

const render: CommandSpec = {
  summary: 'Print a node config as the node receives it',
  details:
    'Fills in the defaults of the pool and the node. Does not need a daemon. The same input gives the same bytes. Secrets that the file references by name stay names.',
  args: [fileArgument],
  flags: {
    pool: { description: 'Pool that the node belongs to', value: 'NAME' },
    node: { description: 'Name of the node', value: 'NAME' },
  },
  examples: [
    ['imago node config render web.yaml --pool web --node web-000001', 'Print what web-000001 receives'],
  ],
  async run(invocation) {
    const { config } = await readNodeConfigFile(argument(invocation, 'FILE'));
    const [pool, name] = [text(invocation, 'pool'), text(invocation, 'node')];
    const rendered = renderNodeConfig(config, { ...(pool && { pool }), ...(name && { name }) }, undefined);
    const digest = createHash('sha256').update(rendered.text).digest('hex');
    const bytes = Math.ceil(Buffer.byteLength(rendered.text) / 3) * 4;
    invocation.out.thing({ digest, userDataBytes: bytes, config: rendered.config }, digest, () => [
      JSON.stringify(rendered.config, null, 2),
    ]);
    invocation.out.note(`sha256 ${digest}, ${bytes} of ${maxUserDataBytes} bytes of instance metadata`);
  },
};

const diff: CommandSpec = {
  summary: 'Compare two node configs and show the cost of each change',
  details:
    'Does not need a daemon, and never shows a secret. For a running pool, use `imago node config set --dry-run`.',
  args: [
    { name: 'BEFORE', description: 'Current config', completes: 'file' },
    { name: 'AFTER', description: 'Target config', completes: 'file' },
  ],
  examples: [['imago node config diff old.yaml new.yaml', 'Check whether a change drains nodes']],
  async run(invocation) {
    const before = await readNodeConfigFile(argument(invocation, 'BEFORE'));
    const after = await readNodeConfigFile(argument(invocation, 'AFTER'));
    const changes = planChanges(before.config, after.config);
    const cost = highestCost(changes);
    invocation.out.thing({ cost: changes.length === 0 ? null : cost, changes }, cost, () =>
      changes.length === 0
        ? ['Nothing changes on a node.']
        : table(changes, { cost: (one) => one.cost, change: (one) => one.sentence }, invocation.out.style),
    );
  },
};

const fieldColumns = {
  field: ({ path }: DescribedField) => path,
  cost: ({ cost }: DescribedField) => cost,
  takes: ({ takes }: DescribedField) => takes,
};

const explain: CommandSpec = {
  summary: 'Describe the fields of the node config',
  details: 'Without FIELD, lists all fields. Does not need a daemon.',
  args: [
    { name: 'FIELD', description: 'Field, for example kubelet.maxPods or files[].path', optional: true },
  ],
  examples: [
    ['imago node config explain kubelet.maxPods', 'Show the cost of changing a field'],
    ['imago node config explain', 'List every field with its cost'],
  ],
  async run({ args, out }) {
    if (args.FIELD !== undefined) explainField(out, requireField(args.FIELD));
    else out.list({ items: describeFields().map(describeField) }, ({ path }) => path, fieldColumns);
  },
};

type DescribedField = ReturnType<typeof describeField>;

function requireField(path: string): FieldDescription {
  const found = findField(path);
  if (found !== undefined) return found;
  const known = describeFields().map((one) => one.path);
  const last = path.split('.').at(-1) ?? path;
  const sameEnd = known.filter((one) => one.split('.').at(-1)?.toLowerCase() === last.toLowerCase());
  throw new ImagoError('input-invalid', `The node config has no field ${path}.`, {
    hint:
      didYouMean(path, known) ??
      didYouMean(sameEnd[0] ?? '', sameEnd) ??
      'Run `imago node config explain` for a list of fields.',
  });
}

function explainField(out: Output, described: FieldDescription): void {
  const { about, ...rest } = describeField(described);
  const below = describeFields().filter(({ path }) => isDirectlyBelow(path, described.path));
  out.thing({ about, ...rest, fields: below.map(({ path }) => path) }, described.path, () => [
    about,
    '',
    ...keyValueLines(rest),
    ...(below.length === 0 ? [] : ['', ...table(below.map(describeField), fieldColumns, out.style)]),
  ]);
}

function isDirectlyBelow(path: string, parent: string): boolean {
  if (!path.startsWith(parent)) return false;
  return /^(?:\[\]|\.\*)?(?:\.[A-Za-z0-9]+|\[\])$/.test(path.slice(parent.length));
}

function describeField(described: FieldDescription) {
  const { path, field, since, ability } = described;
  return {
    path,
    about: field.about,
    takes: describeValue(field),
    cost: costInWords(described) || 'see its fields',
    since,
    required: field.required === true ? 'yes' : undefined,
    default: JSON.stringify(field.default),
    secret: field.secret === true ? 'yes: never shown, stored by its name' : undefined,
    ability,
    example: JSON.stringify(field.example),
  };
}

const set: CommandSpec = {
  summary: 'Change the config of a pool or node in place',
  details:
    'One node applies it first; if a node rejects it, all changes are reverted. A node with its own config keeps the differences from its pool, and receives the rest. Hotfixes are kept unless the file has `hotfixes`. Changes that need a drain or a new disk stay pending on the nodes and are listed. The file references secrets by name, as `secret:NAME`.',
  args: [targetArgument, fileArgument],
  flags: operationFlags,
  examples: [
    ['imago node config set web web.yaml --dry-run', 'Preview the changes and their cost'],
    ['imago node config set web-000001 web.yaml', 'Change only one node'],
  ],
  async run(invocation) {
    const rules = { unknown: 'refuse', secrets: 'named' } as const;
    const { document } = await readNodeConfigFile(argument(invocation, 'FILE'), rules);
    await send(invocation, { document });
  },
};

const hotfix: CommandSpec = {
  summary: 'Install a component on running nodes ahead of an image update',
  details:
    'Nodes install it with the same code that builds images, and verify its sha256. It replaces an earlier hotfix of the same component. A version that contains the component makes the hotfix unnecessary, which its release notes mention.',
  args: [targetArgument],
  flags: {
    component: { description: 'Name of the component', value: 'NAME', required: true },
    version: { description: 'Version to install', value: 'VERSION', required: true },
    source: { description: 'URL that nodes download it from', value: 'URL', required: true },
    sha256: { description: 'Expected sha256', value: 'HEX', required: true },
    kind: { description: 'Type of the source', value: 'KIND', choices: ['binary', 'tar', 'package'] },
    to: { description: 'Install path, if the image does not define one', value: 'PATH' },
    cost: {
      description: 'Disruption that each node must accept (default: restart)',
      value: 'COST',
      choices: ['live', 'restart', 'drain'],
    },
    restart: { description: 'Unit to restart afterwards', value: 'UNIT', repeated: true },
    ...operationFlags,
  },
  examples: [
    [
      'imago node config hotfix web --component runc --version 1.3.4 --source https://files.example.com/runc --sha256 0123… --restart containerd.service',
      'Install a fixed runc on every node of web',
    ],
  ],
  async run(invocation) {
    const fields = ['component', 'version', 'source', 'sha256', 'kind', 'to', 'cost'];
    const restarts = texts(invocation, 'restart');
    const hotfix = Object.fromEntries(fields.map((field) => [field, text(invocation, field)]));
    await send(invocation, { hotfix: { ...hotfix, ...(restarts.length > 0 && { restarts }) } });
  },
};

/** Sends a config or a hotfix to the pool or node that TARGET names. */
async function send(invocation: Invocation, body: Readonly<Record<string, unknown>>): Promise<void> {
  const target = argument(invocation, 'TARGET');
  const isPool = await isPoolName(invocation, target);
  const { runOperation } = await import('../../run/run-command.ts');
  await runOperation(invocation, isPool ? 'setPoolConfig' : 'setNodeConfig', {
    name: () => target,
    more: () => ({ [isPool ? 'pool' : 'node']: target, ...body }),
    done: (result) => describeRollout(target, result),
  });
}

async function isPoolName(invocation: Invocation, name: string): Promise<boolean> {
  const client = await invocation.client();
  if (await exists(client.call('showPool', { path: { pool: name } }), 'pool-not-found')) return true;
  if (await exists(client.call('showNode', { path: { node: name } }), 'node-not-found')) return false;
  throw new ImagoError('pool-not-found', `There is no pool and no node named ${name}.`, {
    hint: 'Run `imago pool list` or `imago node list`.',
  });
}

async function exists(found: Promise<unknown>, notFound: string): Promise<boolean> {
  try {
    await found;
    return true;
  } catch (thrown) {
    if (ensureImagoError(thrown).code === notFound) return false;
    throw thrown;
  }
}

interface PendingNode {
  readonly node: string;
  readonly for: string;
  readonly pending: readonly { readonly sentence: string; readonly cost: string }[];
}

function describeRollout(target: string, result: Result): readonly string[] {
  const { nodes, applied, stopped, waiting } = result;
  const pendingNodes = (result.waitingNodes ?? []) as readonly PendingNode[];
  return [
    `${target}: ${applied} of ${nodes} nodes have the config`,
    ...(stopped === 0 ? [] : [`${stopped} are stopped and read it when they start`]),
    ...(waiting === 0 ? [] : [`${waiting} have pending changes and keep their previous config:`]),
    ...pendingNodes.map(({ node, for: need, pending }) => {
      const reasons = pending.filter(({ cost }) => cost === need).map(({ sentence }) => sentence);
      return `  ${node}, waiting for ${pendingNeeds[need] ?? need}: ${reasons.join('; ')}`;
    }),
  ];
}

const pendingNeeds: Readonly<Record<string, string>> = {
  restart: 'permission to restart services',
  drain: 'a drain',
  reimage: 'a new disk',
};

function configLines(view: ResponseOf<'showNodeConfig'>): readonly string[] {
  const { config, wanted, pending, error } = view;
  return [
    ...keyValueLines({
      ...{ node: view.node, phase: view.phase ?? 'not reported yet', reported: view.reportedAt },
      ...{ config: config?.digest, target: wanted?.digest },
      waiting: view.waiting && waitingTexts[view.waiting],
      error: error && `${error.message} (${error.class})`,
      remedy: error?.remedy,
    }),
    ...pending.map(({ sentence, cost }) => `pending: ${sentence} (${cost})`),
    ...(config?.document === undefined ? [] : [JSON.stringify(config.document, null, 2)]),
  ];
}

const waitingTexts = {
  restart: 'for permission to restart services: `imago node config allow`',
  drain: 'for a drain: run `imago node config allow` afterwards',
  reimage: 'for a new disk',
} as const;

export const command = group({
  validate,
  render,
  diff,
  explain,
  set,
  show: show('showNodeConfig', {
    summary: 'Show the active and pending config of a node',
    details: 'Shows what the node reports. Secrets are omitted.',
    args: [nodeArgument],
    examples: [['imago node config show web-000001', 'Show the active config, and what is pending']],
    name: ({ config, node }) => config?.digest ?? node,
    lines: configLines,
  }),
  allow: write('allowNodeConfig', {
    summary: 'Allow a node to apply its pending config',
    details:
      'For a node that you drained, or whose services can restart now. It does not apply to any later config.',
    args: [nodeArgument],
    examples: [['imago node config allow web-000001', 'Apply the pending config after a drain']],
    name: ({ node }) => node,
    done: configLines,
  }),
  hotfix,
});
